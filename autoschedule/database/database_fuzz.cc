// Any bytes as a tuning database: its records are read, or it is refused with a message.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "autoschedule/database/database.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(folder == nullptr ? "/tmp" : folder) + "/database_fuzz_" + std::to_string(getpid()) + ".db";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (auto database = Database::Open(path, Database::Mode::kExisting); database.ok()) {
    const auto records = database->All();
    TW_CHECK(records.ok() || !records.status().message().empty());
  } else {
    TW_CHECK(!database.status().message().empty());
  }
  for (const char* rest : {"", "-wal", "-shm", "-journal"}) unlink((path + rest).c_str());
  return 0;
}
