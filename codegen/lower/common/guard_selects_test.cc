#include "codegen/lower/common/guard_selects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/lower/common/pass_testing.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// B, of A with 16 elements.
std::string Guarded(const std::string& value) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = )" + value + "\n");
  const Function after = GuardSelects(before);
  testing::ExpectSameAtAllSizes(before, after);
  return testing::Body(after);
}

TEST(GuardSelects, EvaluatesOneValueWhereTheOtherMayBeOutside) {
  EXPECT_THAT(Guarded("T.Select(vi < 16, A[vi], T.float32(1))"),
              HasSubstr("T.if_then_else(vi < 16, A[vi], T.float32(1))"));
  EXPECT_THAT(Guarded("T.Select(vi < 10, A[vi % 16], A[15 - vi % 16])"), HasSubstr("T.Select(vi < 10,"));
}

// A load that a condition of its own keeps inside needs no other one.
TEST(GuardSelects, KnowsWhatIsGuardedAlready) {
  const std::string inside = "T.if_then_else(2 <= vi and vi < 18, A[vi - 2], T.float32(-1))";
  EXPECT_THAT(Guarded("T.Select(T.isnan(A[0]), A[0], T.max(A[0], " + inside + "))"),
              HasSubstr("T.Select(T.isnan(A[0]), A[0], T.max(A[0], T.if_then_else("));
  EXPECT_THAT(Guarded("T.Select(vi % 3 == 0, T.if_then_else(vi < 4, T.float32(0), A[19 - vi]), T.float32(2))"),
              HasSubstr("T.Select(vi % 3 == 0"));
  // One that keeps it inside only together with the other one.
  const std::string both =
      Guarded("T.Select(vi < 18, T.if_then_else(2 <= vi, A[vi - 2], T.float32(-1)), T.float32(2))");
  EXPECT_THAT(both, HasSubstr("T.if_then_else(vi < 18, T.if_then_else("));
  EXPECT_THAT(both, Not(HasSubstr("T.Select")));
}

}  // namespace
}  // namespace tilewright
