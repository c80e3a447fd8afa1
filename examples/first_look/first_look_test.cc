// The README shows matmul.py and schedule.py; both are what it says.
#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "ir/script/parse_or_die.h"
#include "schedule/script/schedule_script.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

std::string Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

// As the README shows a file: indented.
std::string Indented(const std::string& text) {
  std::string result = "    ";
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += "    ";
  }
  return result;
}

TEST(FirstLook, IsWhatTheReadmeShows) {
  const std::string readme = Read("README.md");
  for (const char* name : {"matmul.py", "schedule.py"}) {
    EXPECT_NE(readme.find(Indented(Read(std::string("examples/first_look/") + name))), std::string::npos) << name;
  }
}

TEST(FirstLook, TheScheduleComputesTheSame) {
  std::string program = Read("examples/first_look/matmul.py");
  for (size_t at; (at = program.find("512")) != program.npos;) program.replace(at, 3, "64");
  Schedule schedule(ParseOrDie(program));
  const auto error = ApplyScheduleScript(Read("examples/first_look/schedule.py"), "schedule.py", &schedule);
  ASSERT_FALSE(error) << error->diagnostic.ToString();
  EXPECT_TRUE(testing::SameResults(ParseFunctionOrDie(program), schedule.module().Main()));
}

}  // namespace
}  // namespace tilewright
