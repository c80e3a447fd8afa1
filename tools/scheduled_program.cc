#include "tools/scheduled_program.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "autoschedule/database/apply_best.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "schedule/reduction/define_empty_reductions.h"
#include "schedule/script/peer_trace.h"
#include "schedule/script/schedule_script.h"
#include "tools/program_file.h"
#include "tools/programs/verification.h"

namespace tilewright {
namespace {

// The rules' schedule. Where it is refuted as a whole and the program is not, that without the steps that are refuted.
AutoScheduled RulesThatHold(const CommandArguments& args, const Module& module, const Target& target,
                            IntrinRegistry* intrins, bool* verified) {
  AutoScheduled result = AutoSchedule(module, target, intrins);
  if (args.Has("--unverified")) return result;
  const std::optional<std::string> refuted = RefutationOf(result.schedule.module(), &target);
  *verified = !refuted;
  if (!refuted || RefutationOf(module, nullptr)) return result;
  AutoScheduled rest = AutoScheduleVerified(module, target, intrins);
  if (RefutationOf(rest.schedule.module(), &target)) return result;
  args.err() << args.operands()[0] << ": a step of the rules is left out, since what they make of the program is not "
             << "proven: " << *refuted << "\n";
  *verified = true;
  return rest;
}

ScheduledProgram ByRules(const CommandArguments& args, const Module& module, const Target& target,
                         IntrinRegistry* intrins) {
  bool verified = false;
  AutoScheduled result = RulesThatHold(args, module, target, intrins, &verified);
  for (const RuleRefusal& block : result.left_alone) args.err() << "not scheduled: " << block.ToString() << "\n";
  std::vector<std::string> refused;
  for (const RuleRefusal& refusal : result.refused) refused.push_back(refusal.ToString());
  for (const RuleRefusal& refusal : result.reduced) refused.push_back(refusal.ToString());
  return {std::move(result.schedule), "rules", std::move(refused), verified};
}

std::optional<ScheduledProgram> ByDatabase(const CommandArguments& args, const std::string& path, const Module& module,
                                           const Target& target, IntrinRegistry* intrins) {
  const auto database = Database::Open(path, Database::Mode::kExisting);
  if (!database.ok()) {
    args.err() << std::string(database.status().message()) << "\n";
    return std::nullopt;
  }
  std::vector<std::string> stale;
  auto schedule = ApplyBest(module, target, *database, intrins, {.stale = &stale});
  for (const std::string& record : stale) args.err() << path << ": " << record << "\n";
  for (const std::string& record : database->damaged()) args.err() << record << "\n";
  if (schedule.ok()) return ScheduledProgram{*std::move(schedule), "database"};
  args.err() << std::string(schedule.status().message()) << "\n";
  if (!absl::IsNotFound(schedule.status())) return std::nullopt;
  return ByRules(args, module, target, intrins);
}

// By --script, --db or the rules.
std::optional<ScheduledProgram> ScheduleAsAsked(const CommandArguments& args, const Module& module,
                                                const Target& target, IntrinRegistry* intrins) {
  const std::optional<std::string> script = args.Get("--script");
  if (!script) {
    const std::optional<std::string> database = args.Get("--db");
    return database ? ByDatabase(args, *database, module, target, intrins) : ByRules(args, module, target, intrins);
  }
  const std::optional<std::string> text = ReadSchedule(args, *script);
  if (!text) return std::nullopt;
  Schedule schedule(module, {.intrins = intrins});
  PassedOver passed_over(args);
  if (auto error = ApplyScheduleScript(*text, *script, &schedule, {.passed_over = passed_over.Callback()})) {
    args.err() << error->diagnostic.ToString() << "\n";
    return std::nullopt;
  }
  passed_over.Warn(*script);
  return ScheduledProgram{std::move(schedule), "script"};
}

}  // namespace

bool LoadIntrinsics(const CommandArguments& args, IntrinRegistry* intrins) {
  for (const std::string& path : args.GetAll("--intrin")) {
    const std::optional<std::string> text = ReadText(args, path);
    if (!text) return false;
    if (absl::Status loaded = intrins->LoadScript(*text, path); !loaded.ok()) {
      args.err() << std::string(loaded.message()) << "\n";
      return false;
    }
  }
  return true;
}

std::optional<std::string> ReadSchedule(const CommandArguments& args, const std::string& path) {
  std::optional<std::string> text = ReadText(args, path);
  if (!text) return std::nullopt;
  absl::StatusOr<std::string> schedule = ScheduleTextOf(*std::move(text));
  if (schedule.ok()) return *std::move(schedule);
  args.err() << path << ":1:1: error: " << std::string(schedule.status().message()) << "\n";
  return std::nullopt;
}

std::function<void(int line, std::string_view why)> PassedOver::Callback() {
  return [this](int line, std::string_view why) { lines_.emplace(line, why); };
}

void PassedOver::Warn(const std::string& path) const {
  if (lines_.empty()) return;
  const auto& [first, why] = *lines_.begin();
  args_.err() << path << ":" << first << ": warning: passed over as other Python: " << why;
  const char* separator = lines_.size() == 2 ? "; so is line " : "; so are lines ";
  for (auto line = std::next(lines_.begin()); line != lines_.end(); ++line) {
    args_.err() << separator << line->first;
    separator = ", ";
  }
  args_.err() << "\n";
}

std::optional<ScheduledProgram> ScheduleProgram(const CommandArguments& args, const Module& module,
                                                const Target& target, IntrinRegistry* intrins) {
  if (!LoadIntrinsics(args, intrins)) return std::nullopt;
  std::optional<ScheduledProgram> scheduled = ScheduleAsAsked(args, module, target, intrins);
  if (!scheduled) return std::nullopt;
  const std::vector<Function> before = scheduled->schedule.module().functions();
  scheduled->module = DefineEmptyReductions(scheduled->schedule.module());
  scheduled->verified &= std::ranges::equal(before, scheduled->module.functions(),
                                            [](const Function& a, const Function& b) { return a.same_as(b); });
  return scheduled;
}

}  // namespace tilewright
