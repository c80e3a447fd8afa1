#include "codegen/lower/cpu/run_beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/lower/common/pass_testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Target TwoCores() {
  Target target = *NamedTarget("x86-znver4");
  target.cores = 2;
  return target;
}

// Two recurrences of `steps` steps that write row `first` and row `second` of Y.
Function TwoLoops(const char* steps, int first, int second, const char* second_reads = "g") {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer(($0, 512), "float32"), h: T.Buffer((512,), "float32"), g: T.Buffer((512,), "float32"), Y: T.Buffer(($0, 2, 512), "float32")):
    for t in range($0):
        for j in range(512):
            h[j] = h[j] * T.float32(0.5) + X[t, j]
        for j in range(512):
            Y[t, $1, j] = h[511 - j]
    for t in range($0):
        for j in range(512):
            g[j] = $3[j] * T.float32(0.5) + X[$0 - 1 - t, j]
        for j in range(512):
            Y[t, $2, j] = g[511 - j]
)",
                                             steps, first, second, second_reads));
}

TEST(RunBeside, LoopsApartRunAtOnce) {
  const Function before = TwoLoops("2000", 0, 1);
  const std::string after = Print(RunBeside(before, TwoCores()));
  EXPECT_THAT(after, HasSubstr("for part in T.parallel(2)"));
  EXPECT_THAT(after, HasSubstr("if part < 1"));
  Target one = TwoCores();
  one.cores = 1;
  EXPECT_EQ(Print(RunBeside(before, one)), Print(before));
}

TEST(RunBeside, LeavesWhatMeets) {
  // Both write one row; the second reads what the first writes; each is as short as a start of threads.
  EXPECT_THAT(Print(RunBeside(TwoLoops("2000", 1, 1), TwoCores())), Not(HasSubstr("T.parallel")));
  EXPECT_THAT(Print(RunBeside(TwoLoops("2000", 0, 1, "h"), TwoCores())), Not(HasSubstr("T.parallel")));
  EXPECT_THAT(Print(RunBeside(TwoLoops("2", 0, 1), TwoCores())), Not(HasSubstr("T.parallel")));
}

TEST(RunBeside, ComputesTheSame) {
  Target eager = TwoCores();
  eager.mutable_cpu_part().fork_join_seconds = 0;
  const Function before = TwoLoops("3", 0, 1), after = RunBeside(before, eager);
  EXPECT_THAT(Print(after), HasSubstr("T.parallel"));
  testing::ExpectSameAtAllSizes(before, after);
}

}  // namespace
}  // namespace tilewright
