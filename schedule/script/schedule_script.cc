#include "schedule/script/schedule_script.h"

#include "schedule/script/script_runner.h"

namespace tilewright {

std::optional<ScheduleScriptError> ApplyScheduleScript(std::string_view text, std::string_view file, Schedule* schedule,
                                                       const ScheduleScriptOptions& options) {
  return ScriptRunner(text, file, schedule, options).Run();
}

}  // namespace tilewright
