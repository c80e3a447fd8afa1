// The schedule that a command line asks for: --script, --db, or the rules of autoschedule/ where neither is given. What
// is refuted of the rules' steps is left out, which standard error says.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intrin/registry.h"
#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"
#include "tools/command_line/command.h"

namespace tilewright {

// Adds the intrinsics of every --intrin. False when one is refused; the reason is on standard error.
bool LoadIntrinsics(const CommandArguments& args, IntrinRegistry* intrins);

// The schedule in a file as text, also where the file holds a trace as JSON, ours or the peer's. Nothing when it is
// refused; the reason is on standard error.
std::optional<std::string> ReadSchedule(const CommandArguments& args, const std::string& path);

// Collects the lines of a schedule that are passed over as other Python, and names them on standard error.
class PassedOver {
 public:
  explicit PassedOver(const CommandArguments& args) : args_(args) {}
  // A callback that lives no longer than this.
  std::function<void(int line, std::string_view why)> Callback();
  // "s.py:2: warning: passed over as other Python: there is no primitive foo; so are lines 3 and 7".
  void Warn(const std::string& path) const;

 private:
  const CommandArguments& args_;
  std::map<int, std::string> lines_;
};

struct ScheduledProgram {
  Schedule schedule;
  std::string by;  // "rules", "database" or "script"
  // The rules' structures that refused a block which another one schedules, or a part of them: a sentence each.
  std::vector<std::string> refused = {};
  bool verified = false;  // `module` is not refuted for the target; false where nobody asked
  Module module = {};     // what the schedule makes of the program; sums over no elements are their init
};

// The scheduled program, intrinsics of --intrin included in `intrins`. With --db: the best record that is not stale,
// and the rules where there is none, which standard error says. Nothing when something is refused; the reason is on
// standard error.
std::optional<ScheduledProgram> ScheduleProgram(const CommandArguments& args, const Module& module,
                                                const Target& target, IntrinRegistry* intrins);

}  // namespace tilewright
