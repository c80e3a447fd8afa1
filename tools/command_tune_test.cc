// The command line: what "tilewright tune" prints, and its exit status for good input, refused input and wrong usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/command_line/command.h"
#include "tools/testing/programs.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::WriteFile;
using Result = ToolResult;

TEST(Tune, ListsCandidates) {
  const Result result = RunTool({"tune", "-", "--target=x86-znver4", "--list-candidates"}, testing::kProduct);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("block C over vi, vj; summed over vk\n  sketches: contraction (preferred), plain\n"));
  EXPECT_THAT(result.out, HasSubstr("vi = vi; vj = vj; vk = vk"));
  EXPECT_THAT(result.out, HasSubstr("no: "));
  // What no block can use is said once, and once for each reason.
  const size_t general = result.out.find("whatever the block:\n");
  ASSERT_NE(general, std::string::npos);
  EXPECT_EQ(result.out.find("the target has no "), result.out.find("the target has no ", general));
  EXPECT_EQ(result.out.find("the target has no neon:"), result.out.rfind("the target has no neon:"));
}

// Each type has its own intrinsics, and zero points are split off.
TEST(Tune, ListsCandidatesOfQuantizedProducts) {
  const Result result = RunTool({"tune", "-", "--target=x86-znver4", "--list-candidates"}, R"(
@T.prim_func
def main(A: T.Buffer((16, 8), "uint8"), B: T.Buffer((8, 32), "int8"), C: T.Buffer((16, 32), "int32")):
    for i, j, k in T.grid(16, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 128) * (T.Cast("int32", B[vk, vj]) + 1)
)");
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("block C over vi, vj; summed over vk\n"));
  EXPECT_THAT(result.out, ContainsRegex("dot_u8s8_[^ ]* +vi = vi; vj = vj; vk = vk"));
}

TEST(Tune, WritesTheProgramAndTheScheduleThatGivesIt) {
  const std::string program = WriteFile("product.py", testing::kProduct), out = ::testing::TempDir() + "/tuned.py";
  const Result tuned = RunTool({"tune", program, "--trials=3", "--seconds=60", "-o", out});
  ASSERT_EQ(tuned.status, kDone) << tuned.err;
  EXPECT_THAT(tuned.out, StartsWith("best: "));
  const std::string replayed = ::testing::TempDir() + "/replayed.py";
  ASSERT_EQ(RunTool({"schedule", program, "--script=" + out + ".trace", "-o", replayed}).status, kDone);
  EXPECT_EQ(RunTool({"equal", out, replayed}).status, kDone);
}

TEST(Tune, RefusesWrongUsage) {
  EXPECT_EQ(RunTool({"tune", "-", "--seconds=0"}, testing::kProduct).err,
            "tilewright tune: --seconds must be a positive number, got 0; see tilewright tune --help\n");
  EXPECT_EQ(RunTool({"tune", "-", "--trials=x"}, testing::kProduct).status, kUsage);
  EXPECT_EQ(RunTool({"tune", "-", "--target=none"}, testing::kProduct).status, kUsage);
  EXPECT_EQ(RunTool({"tune", "-", "--launcher=env", "--cold-cache"}, testing::kProduct).err,
            "-: error: cold caches are measured on this machine only\n");
}

}  // namespace
}  // namespace tilewright
