#include "codegen/runtime/perf_map.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace tilewright::runtime {

bool WantsPerfMap() {
  const char* const value = std::getenv("TILEWRIGHT_PERF_MAP");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

std::string PerfMapPath() { return "/tmp/perf-" + std::to_string(getpid()) + ".map"; }

void AddToPerfMap(const std::vector<CodeSymbol>& symbols) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::FILE* const file = std::fopen(PerfMapPath().c_str(), "a");
  if (file == nullptr) return;
  for (const CodeSymbol& symbol : symbols) {
    std::fprintf(file, "%llx %llx %s\n", static_cast<unsigned long long>(symbol.address),
                 static_cast<unsigned long long>(symbol.bytes), symbol.name.c_str());
  }
  std::fclose(file);
}

}  // namespace tilewright::runtime
