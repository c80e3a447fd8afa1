#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/program/sizes.h"
#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "tools/arrays/run_arguments.h"
#include "tools/command_line/flag_value.h"
#include "tools/commands.h"
#include "tools/models/onnx_file.h"
#include "tools/models/onnx_plan.h"
#include "tools/program_file.h"
#include "tools/programs/explanation.h"
#include "tools/programs/verification.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

// Gives the functions the sizes of --dim; says which of them none has.
std::optional<std::string> TakeSizes(const CommandArguments& args, Module& module) {
  SizesByName sizes;
  for (const std::string& text : args.GetAll("--dim")) sizes.insert(*ReadDim(text));
  if (sizes.empty()) return std::nullopt;
  std::optional<std::string> unused = "--dim: there is no function";
  for (const Function& function : std::vector<Function>(module.functions().begin(), module.functions().end())) {
    const std::optional<std::string> here = UnusedArguments(args, function);
    unused = here && unused ? here : std::nullopt;
    module.Set(WithLikelySizes(function, sizes));
  }
  return unused;
}

int RunExplain(const CommandArguments& args) {
  if (args.kind() == FileKind::kModel) return ExplainOnnx(args);
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  if (const auto unused = TakeSizes(args, *module)) return UsageError(args, "explain", *unused);
  WarnOfLoopsWithoutBlocks(args, *module);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Module scheduled = *module;
  const bool json = args.Has("--json");
  std::string schedule;
  ExplainedFile explained{.title = args.operands()[0]};
  if (!args.Has("--as-is")) {
    const std::optional<ScheduledProgram> by_schedule = ScheduleProgram(args, *module, *target, &intrins);
    if (!by_schedule) return kRefused;
    scheduled = by_schedule->schedule.module();
    schedule = ToText(by_schedule->schedule.trace());
    for (const std::string& refused : by_schedule->refused) {
      explained.remarks.push_back("the preferred sketch refuses a block, and another one schedules it: " + refused);
      if (!json) args.out() << explained.remarks.back() << "\n";
    }
  }
  bool first = true;
  for (const Function& function : scheduled.functions()) {
    explained.parts.push_back(Explain(function, *target));
    if (json) continue;
    if (!first) args.out() << "\n";
    first = false;
    PrintExplanation(explained.parts.back(), args.out());
  }
  if (json) args.out() << ExplanationJson(scheduled, *target);
  const auto path = args.Get("--html");
  if (!path) return kDone;
  explained.texts = {{"Schedule", schedule}, {"Program", Print(scheduled)}};
  return WriteText(args, *path, ExplanationPage(explained)) ? kDone : kRefused;
}

}  // namespace

Command ExplainCommand() {
  return {
      .name = "explain",
      .operands = "FILE",
      .summary = "says what a program's time goes to, by the cost models",
      .details =
          "Nothing is run. The busiest core is the one with the most iterations of parallel loops; caches are taken "
          "to be warm. Functions that prepare constants are shown apart.",
      .takes = kPrograms | kModels,
      .run = RunExplain};
}

}  // namespace tilewright
