#include "verify/structure/exact_run.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The elements of a parameter are counted without overflow, whatever its extents.
TEST(ExactRun, HugeParametersAreNotRun) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(8), T.int64(9223372036854775807)), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[T.Cast("int64", vi), T.int64(0)]
)");
  EXPECT_EQ(RunExactly(function).outcome, ExactRun().outcome);
  EXPECT_EQ(RunExactly(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(8), T.int64(9)), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[T.Cast("int64", vi), T.int64(0)]
)"))
                .outcome,
            ExactOutcome::kClean);
}

}  // namespace
}  // namespace tilewright
