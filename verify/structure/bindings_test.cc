#include "verify/structure/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Sums over rows that lie one after the other, each with a loop of its own length.
std::vector<std::string> Findings(const std::string& extent, const std::string& binding) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), P: T.Buffer((9,), "int32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(P[vi:vi + 2], A[0:64])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            for j in range()" + extent + R"():
                with T.block("sum"):
                    vj = T.axis.reduce(64, )" + binding +
                                               R"()
                    T.reads(C[vi], A[P[vi] + vj], P[vi])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[P[vi] + vj]
)");
  std::vector<std::string> findings;
  for (const Diagnostic& d : VerifyProgram(function).diagnostics) {
    findings.push_back((d.verdict == Verdict::kAssumed ? "assumed: " : "refused: ") + d.reason);
  }
  return findings;
}

TEST(Bindings, MemoryDecidesHowFarALoopRuns) {
  EXPECT_THAT(
      Findings("P[vi + 1] - P[vi]", "j"),
      Contains("assumed: block sum: iterator vj is bound to j, which is taken to be inside of its domain [0, 64)"));
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j"), Not(Contains(HasSubstr("refused"))));
  EXPECT_THAT(Findings("64", "j"), Not(Contains(HasSubstr("its domain"))));
}

TEST(Bindings, OutsideWhateverMemoryHolds) {
  const auto refused = Contains(HasSubstr("refused: block sum: iterator vj is bound to j"));
  EXPECT_THAT(Findings("65", "j"), refused);
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j + 64"), refused);
  EXPECT_THAT(Findings("P[vi + 1] - P[vi]", "j - 1"), refused);
}

}  // namespace
}  // namespace tilewright
