// Any text as LAUNCH.json: read, or refused with a message.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tools/foreign/launch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  const auto launch = ParseLaunchFile(std::string_view(reinterpret_cast<const char*>(data), size));
  TW_CHECK(launch.ok() || !launch.status().message().empty());
  return 0;
}
