// tilewright explain: the table, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tools/command_line/command.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

using Result = ToolResult;

constexpr char kMatmul[] = R"(
@T.prim_func
def main(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32"), C: T.Buffer((512, 512), "float32")):
    for i, j, k in T.grid(512, 512, 512):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

TEST(Explain, AScheduledMatmulIsLimitedByArithmetic) {
  const Result result = RunTool({"explain", "-", "--target=x86-znver4"}, kMatmul);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("main on x86-znver4 (znver4, 2 cores)\n"));
  EXPECT_THAT(result.out, HasSubstr("  limiter                arithmetic\n"));
  EXPECT_THAT(result.out, HasSubstr("  speed of light         1.13 ms"));
  EXPECT_THAT(result.out, HasSubstr("134 M multiply-adds"));
  EXPECT_THAT(result.out, HasSubstr("  cores                  2 of 2\n"));
}

TEST(Explain, NamesWhatThePreferredSketchRefuses) {
  std::string doubles = kMatmul;
  for (size_t at = 0; (at = doubles.find("float32", at)) != std::string::npos;) doubles.replace(at, 7, "float64");
  const Result result = RunTool({"explain", "-", "--target=arm-neoverse-n1"}, doubles);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the preferred sketch refuses a block, and another one schedules it: "
                                    "contraction_rule: the target has no tiles that multiply float64 by float64"));
}

TEST(Explain, AProgramAsItIsWrittenWaits) {
  const Result result = RunTool({"explain", "-", "--target=x86-znver4", "--as-is"}, kMatmul);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  limiter                latency\n"));
  EXPECT_THAT(result.out, HasSubstr("  cores                  1 of 2\n"));
  EXPECT_THAT(result.out, HasSubstr("traffic from L2"));
}

TEST(Explain, WritesAPage) {
  const std::string path = testing::TempDir() + "/page.html";
  const Result result = RunTool({"explain", "-", "--target=x86-znver4", "--html=" + path}, kMatmul);
  EXPECT_EQ(result.status, kDone) << result.err;
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("<h2>main on x86-znver4 (znver4, 2 cores)</h2>"));
  EXPECT_THAT(page.str(), HasSubstr("sch.tensorize("));
}

TEST(Explain, PrintsJson) {
  const Result result = RunTool({"explain", "-", "--target=x86-znver4", "--json"}, kMatmul);
  EXPECT_EQ(result.status, kDone) << result.err;
  for (const char* part : {"\"target\": \"x86-znver4\"", "\"threads\": 2", "\"name\": \"main\"",
                           "\"limiter\": \"arithmetic\"", "\"multiply_adds\": 134217728.0", "\"from\": \"L2\""}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST(Explain, TakesSizes) {
  const std::string copy = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi]
)";
  const auto moved = [&](const std::string& dim) { return RunTool({"explain", "-", "--as-is", "--dim=" + dim}, copy); };
  EXPECT_THAT(moved("n=1000000").out, HasSubstr("8 MB from "));
  EXPECT_THAT(moved("n=1000").out, HasSubstr("8 kB from "));
  EXPECT_EQ(moved("m=1").status, kUsage);
  EXPECT_THAT(moved("N=1").err, HasSubstr("did you mean n?"));
}

TEST(Explain, KernelsOfAGpu) {
  const Result result = RunTool({"explain", "-", "--target=cuda-sm90a"}, kMatmul);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("  launches               1.5 us"));
  EXPECT_THAT(result.out, HasSubstr("traffic from memory"));
  EXPECT_THAT(result.out, HasSubstr("of 132\n"));
}

TEST(Explain, Refuses) {
  EXPECT_EQ(RunTool({"explain", "-", "--target=toaster"}, kMatmul).status, kUsage);
  const Result both = RunTool({"explain", "-", "--as-is", "--script=x"}, kMatmul);
  EXPECT_EQ(both.status, kUsage);
  EXPECT_THAT(both.err, HasSubstr("--script and --as-is exclude each other"));
}

}  // namespace
}  // namespace tilewright
