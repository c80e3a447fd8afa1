// Names that the command line lists, and what `check` warns of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tools/commands.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

using Result = ToolResult;

std::string WriteFile(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(List, NamesThatSchedulesAndFlagsTake) {
  const auto listed = [](const std::string& what) {
    const Result result = RunTool({"list", what, "--target=x86-znver4"});
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.out;
  };
  EXPECT_THAT(listed("primitives"), HasSubstr("split(loop, factors, "));
  EXPECT_THAT(listed("intrinsics"), HasSubstr("dot_16x4_vnni"));
  EXPECT_THAT(listed("intrinsics"), HasSubstr("needs neon, which x86-znver4 does not have"));
  EXPECT_THAT(listed("scopes"), HasSubstr("\nregister\n"));
  EXPECT_THAT(listed("passes"), HasSubstr("  lower_init\n"));
  EXPECT_THAT(listed("targets"), HasSubstr("arm-neoverse-v1\n"));
  const Result misspelt = RunTool({"list", "intrinsic"});
  EXPECT_EQ(misspelt.status, kUsage);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean intrinsics?"));
}

// What is right, and hardly meant: `check` warns at the line, and what is about schedules of what they cannot reach.
TEST(Check, WarnsOfWhatIsHardlyMeant) {
  const std::string program = WriteFile("wrapping.py", R"(
@T.prim_func
def main(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8")):
    for i in range(8):
        B[i] = A[i] * A[i]
)");
  const Result checked = RunTool({"check", program});
  EXPECT_EQ(checked.status, kDone) << checked.err;
  EXPECT_EQ(checked.out, "main: proven valid\n");
  EXPECT_THAT(checked.err, HasSubstr("wrapping.py:2:1: warning: A[i] * A[i] is computed in int8 and wraps beyond 127"));
  EXPECT_THAT(checked.err, HasSubstr("wrapping.py:4:9: warning: loop i holds no block"));
  EXPECT_THAT(RunTool({"explain", program}).err, HasSubstr("warning: loop i holds no block"));
  EXPECT_THAT(RunTool({"tune", program, "--trials=1", "--seconds=5"}).err, HasSubstr("warning: loop i holds no block"));
}

}  // namespace
}  // namespace tilewright
