// Schedules as TVM and people write them: peer_schedules.txt holds programs, calls, and what they make. What is made
// computes what the program computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/script/schedule_script.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

struct Example {
  std::string title, program, calls, expected;
};

std::vector<Example> ReadExamples() {
  std::ifstream file("schedule/script/peer_schedules.txt");
  std::vector<Example> examples;
  std::string line;
  std::string* part = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with("#### ")) {
      examples.emplace_back().title = line.substr(5);
      part = &examples.back().program;
    } else if (line == ">>>") {
      part = &examples.back().calls;
    } else if (line == "===") {
      part = &examples.back().expected;
    } else if (part != nullptr) {
      *part += line + "\n";
    }
  }
  std::erase_if(examples, [](const Example& example) { return example.calls.empty(); });  // what the file is about
  return examples;
}

TEST(PeerSchedules, MakeWhatThePeerMakes) {
  const std::vector<Example> examples = ReadExamples();
  ASSERT_GT(examples.size(), 5u);
  for (const Example& example : examples) {
    SCOPED_TRACE(example.title);
    Schedule schedule(ParseOrDie(example.program));
    const auto error = ApplyScheduleScript(example.calls, "calls", &schedule);
    ASSERT_FALSE(error) << error->diagnostic.ToString();
    const Module expected = ParseOrDie(example.expected);
    EXPECT_TRUE(StructuralEqual(schedule.module(), expected)) << Print(schedule.module()) << Print(expected);
    const VerifyResult result = VerifyProgram(schedule.module().Main());
    const bool valid = std::ranges::none_of(
        result.diagnostics, [](const Diagnostic& diagnostic) { return diagnostic.verdict == Verdict::kRefuted; });
    EXPECT_TRUE(valid) << Render(result, schedule.module().Main());
  }
}

}  // namespace
}  // namespace tilewright
