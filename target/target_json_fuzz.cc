// Any text as the description of a target: refused with a message, or a target whose own text gives it back.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "target/target_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  const auto target = TargetFromJson(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!target.ok()) {
    TW_CHECK(!target.status().message().empty());
    return 0;
  }
  const std::string text = TargetToJson(*target);
  const auto again = TargetFromJson(text);
  TW_CHECK(again.ok()) << text;
  TW_CHECK(TargetToJson(*again) == text) << text;
  return 0;
}
