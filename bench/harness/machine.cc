#include "bench/harness/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tilewright::bench {
namespace {

// A cap on its features changes what is measured as much as another CPU would.
std::string CapText() {
  const char* cap = std::getenv("TILEWRIGHT_HOST_FEATURES");
  return cap == nullptr || *cap == '\0' ? "" : std::string(" with the features of ") + cap;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2) + CapText();
  }
  return "unknown";
}

// Output of a shell command, its last line end removed; empty when it fails.
std::string OutputOf(const char* command) {
  std::string output;
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return output;
  char buffer[256];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, count);
  if (pclose(pipe) != 0) return "";
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

}  // namespace

Machine DescribeMachine(int threads) {
  utsname system = {};
  uname(&system);
  return {.cpu = CpuName(),
          .cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
          .threads = threads,
          .l1d_bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE),
          .l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE),
          .l3_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE),
          .memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
          .system = std::string(system.sysname) + " " + system.release + " " + system.machine,
          .compiler = __VERSION__};
}

std::string CurrentCommit() {
  const std::string commit = OutputOf(
      "git -C \"${BUILD_WORKSPACE_DIRECTORY:-.}\" describe --always --abbrev=40 --match='' --dirty 2>/dev/null");
  return commit.empty() ? "unknown" : commit;
}

}  // namespace tilewright::bench
