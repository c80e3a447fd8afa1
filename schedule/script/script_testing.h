// What tests of schedule scripts share.
#pragma once

#include <string>
#include <string_view>

#include "schedule/script/schedule_script.h"
#include "schedule/testing/programs.h"

namespace tilewright::script_testing {

inline Module Matmul() { return Module(testing::Matmul(64, 32, 16)); }

// The message of the script's error, or "" when all was applied.
inline std::string Apply(std::string_view text, Schedule* schedule) {
  auto error = ApplyScheduleScript(text, "s.py", schedule);
  return error ? error->diagnostic.ToString() : "";
}
inline std::string ErrorOf(std::string_view text) {
  Schedule schedule(Matmul());
  return Apply(text, &schedule);
}

}  // namespace tilewright::script_testing
