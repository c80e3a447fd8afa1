#include <algorithm>
#include <ostream>
#include <sstream>

#include "intrin/registry.h"
#include "ir/script/printer.h"
#include "schedule/script/schedule_script.h"
#include "schedule/script/trace_text.h"
#include "tools/commands.h"
#include "tools/program_file.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// For each line of `after`, whether it is not part of a longest common subsequence with `before`.
std::vector<bool> ChangedLines(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::vector<int>> length(before.size() + 1, std::vector<int>(after.size() + 1));
  for (size_t i = before.size(); i-- > 0;) {
    for (size_t j = after.size(); j-- > 0;) {
      length[i][j] = before[i] == after[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  std::vector<bool> changed(after.size(), true);
  for (size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    if (before[i] == after[j]) {
      changed[j] = false;
      ++i, ++j;
    } else if (length[i + 1][j] >= length[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return changed;
}

// Prints the program after each call that changed it, changed lines with a '>' in front.
class StepPrinter {
 public:
  StepPrinter(const Module& module, std::ostream& out) : previous_(Lines(Print(module))), out_(out) {}

  void Show(std::string_view call, int line, const Schedule& schedule) {
    std::vector<std::string> lines = Lines(Print(schedule.module()));
    const std::vector<bool> changed = ChangedLines(previous_, lines);
    const bool any = lines.size() != previous_.size() || std::ranges::find(changed, true) != changed.end();
    out_ << "# line " << line << ": " << call << (any ? "\n" : "    (changes nothing)\n");
    for (size_t i = 0; any && i < lines.size(); ++i) out_ << (changed[i] ? "> " : "  ") << lines[i] << "\n";
    previous_ = std::move(lines);
  }

 private:
  std::vector<std::string> previous_;
  std::ostream& out_;
};

int RunSchedule(const CommandArguments& args) {
  const std::optional<std::string> script = args.Get("--script");
  if (!script) return UsageError(args, "schedule", "--script=SCHED is missing");
  std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (!LoadIntrinsics(args, &intrins)) return kRefused;
  const std::optional<std::string> text = ReadSchedule(args, *script);
  if (!text) return kRefused;

  Schedule schedule(*module, {.intrins = &intrins});
  StepPrinter steps(*module, args.out());
  PassedOver passed_over(args);
  ScheduleScriptOptions options{.passed_over = passed_over.Callback()};
  if (args.Has("--each-step")) {
    options.after_call = [&](std::string_view call, int line, const Schedule& now) { steps.Show(call, line, now); };
  }
  if (auto error = ApplyScheduleScript(*text, *script, &schedule, options)) {
    args.err() << error->diagnostic.ToString() << "\n";
    if (error->refusal && schedule.refused_function()) {
      // The program with the places marked; its first line is the sentence, which was said.
      const std::string shown = Render(*error->refusal, schedule.refused_function());
      args.err() << shown.substr(std::min(shown.find('\n'), shown.size() - 1) + 1);
    }
    return kRefused;
  }
  passed_over.Warn(*script);
  if (const std::optional<std::string> path = args.Get("--trace")) {
    const Trace& trace = schedule.trace();
    if (!WriteText(args, *path, path->ends_with(".json") ? ToJson(trace) + "\n" : ToText(trace))) return kRefused;
  }
  const std::string result = Print(schedule.module());
  if (const std::optional<std::string> path = args.Get("-o")) {
    if (!WriteText(args, *path, result)) return kRefused;
  } else if (!args.Has("--each-step")) {
    args.out() << result;
  }
  return kDone;
}

}  // namespace

Command ScheduleCommand() {
  return {.name = "schedule",
          .operands = "FILE",
          .summary = "applies a schedule to a program and prints the result",
          .details = "The schedule is text as docs/primitives.md describes it, or a trace.",
          .takes = kPrograms,
          .run = RunSchedule};
}

}  // namespace tilewright
