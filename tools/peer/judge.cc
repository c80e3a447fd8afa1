// Applies schedules that TVM applied, and says where the results part; compare.py writes the requests and reads the
// answers, one JSON object a line each.
//
//   judge INTRINS < requests > answers
//
//   {"program": TEXT, "lines": [LINE...], "results": [TEXT or null...], "tries": [{"after": 2, "line": LINE}...]}
//   {"same": 3, "outcome": "different", "detail": TEXT, "theirs": TEXT, "ours": TEXT, "tries": [REASON or null...]}
//
// `lines` are calls that TVM took, `results` the programs after each (null where nobody looks). `same` counts the lines
// before the first that we refuse ("only ours") or whose result differs; `theirs` and `ours` say what a run of the
// result shows to be wrong against the program before the call, and are empty when it shows nothing. `unread`: the
// parser refuses TVM's program. `tries` are calls that TVM refused, each made after the first lines; the answer is our
// reason, or null where we accept.
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "intrin/registry.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/script/schedule_script.h"
#include "tools/peer/meaning.h"
#include "tools/peer/same_form.h"

namespace tilewright {
namespace {

using nlohmann::json;

class Judge {
 public:
  explicit Judge(IntrinRegistry* intrins) : intrins_(intrins) {}

  json Answer(const json& request) const {
    const absl::StatusOr<Module> module = ParseModule(request["program"].get<std::string>(), "program");
    if (!module.ok()) return {{"error", std::string(module.status().message())}};
    const std::vector<std::string> lines = request["lines"];
    json answer = Compare(*module, lines, request["results"]);
    answer["tries"] = json::array();
    for (const json& attempt : request["tries"]) {
      std::vector<std::string> some(lines.begin(), lines.begin() + attempt["after"].get<int>());
      some.push_back(attempt["line"]);
      const Applied applied = Apply(*module, some);
      answer["tries"].push_back(applied.refusal ? json(*applied.refusal) : json());
    }
    return answer;
  }

 private:
  struct Applied {
    std::vector<Module> after;  // each line
    std::optional<std::string> refusal;
  };

  Applied Apply(const Module& module, const std::vector<std::string>& lines) const {
    Applied applied;
    Schedule schedule(module, {.intrins = intrins_});
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    Module latest = module;
    ScheduleScriptOptions options;
    // A line may hold several calls.
    options.after_call = [&](std::string_view, int line, const Schedule& now) {
      while (static_cast<int>(applied.after.size()) < line - 1) applied.after.push_back(latest);
      latest = now.module();
    };
    const auto error = ApplyScheduleScript(text, "schedule", &schedule, options);
    const size_t reached = error ? error->diagnostic.line - 1 : lines.size();
    while (applied.after.size() < reached) applied.after.push_back(latest);
    if (error) applied.refusal = error->diagnostic.message;
    return applied;
  }

  json Compare(const Module& module, const std::vector<std::string>& lines, const json& results) const {
    const Applied applied = Apply(module, lines);
    for (size_t i = 0; i < applied.after.size(); ++i) {
      if (results[i].is_null()) continue;
      const std::string text = results[i];
      const Module& before = i == 0 ? module : applied.after[i - 1];
      const absl::StatusOr<Module> theirs = ParseModule(text, "TVM's program");
      if (!theirs.ok())
        return {{"same", i},
                {"outcome", "different"},
                {"detail", std::string(theirs.status().message())},
                {"unread", true},
                {"ours", WhyWrong(before, applied.after[i])}};
      Mismatch mismatch;
      if (StructuralEqual(applied.after[i], *theirs, &mismatch)) continue;
      // Regions, bindings and conditions are the same when they are up to simplification.
      const Module ours = Simplified(applied.after[i]), simplified = Simplified(*theirs);
      if (StructuralEqual(ours, simplified, &mismatch)) continue;
      if (StructuralEqual(Sorted(ours), Sorted(simplified))) continue;
      std::ostringstream detail;
      detail << "different at " << mismatch.path << ": " << mismatch.reason << "\n";
      if (mismatch.a) detail << "ours:\n" << Print(mismatch.a);
      if (mismatch.b) detail << "TVM's:\n" << Print(mismatch.b);
      detail << "-- all of ours:\n" << Print(applied.after[i]) << "-- all of TVM's:\n" << Print(*theirs);
      if (StructuralEqual(Sorted(Simplified(Declared(applied.after[i]))), Sorted(Simplified(Declared(*theirs))))) {
        detail << "-- equal once blocks declare what they touch\n";
      }
      return {{"same", i},
              {"outcome", "different"},
              {"detail", detail.str()},
              {"theirs", WhyWrong(before, *theirs)},
              {"ours", WhyWrong(before, applied.after[i])}};
    }
    if (applied.refusal) {
      const size_t i = applied.after.size();
      const Module& before = i == 0 ? module : applied.after.back();
      const json& text = results[i];
      const absl::StatusOr<Module> theirs = ParseModule(text.is_null() ? "" : text.get<std::string>(), "TVM's program");
      return {{"same", i},
              {"outcome", "only ours"},
              {"detail", *applied.refusal},
              {"unread", !theirs.ok() && !text.is_null()},
              {"theirs", theirs.ok() ? WhyWrong(before, *theirs) : ""}};
    }
    return {{"same", lines.size()}, {"outcome", "same"}, {"detail", ""}};
  }

  IntrinRegistry* intrins_;
};

int Run(const std::string& path) {
  const std::string text = ReadFile(path).value_or("");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (const absl::Status loaded = intrins.LoadScript(text, path); !loaded.ok()) {
    std::cerr << std::string(loaded.message()) << "\n";
    return 1;
  }
  const Judge judge(&intrins);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << judge.Answer(json::parse(line)).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: judge INTRINS\n";
    return 2;
  }
  return tilewright::Run(argv[1]);
}
