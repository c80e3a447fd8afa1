#include "autoschedule/sketch/cpu/contraction_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/substitute.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// A product of [197, b, 64] by [64, 96], where b is likely `likely`, as exporters write sequences before batches.
Function SequencesFirst(int likely) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((64, 96), "float32"), c: T.handle):
    T.func_attr({"tilewright.likely_sizes": {"b": [$0]}})
    b = T.int64()
    A = T.match_buffer(a, (T.int64(197), b, T.int64(64)))
    C = T.match_buffer(c, (T.int64(197), b, T.int64(96)))
    for i, s, j, k in T.grid(T.int64(197), b, T.int64(96), T.int64(64)):
        with T.block("C"):
            vi, vs, vj, vk = T.axis.remap("SSSR", [i, s, j, k])
            with T.init():
                C[vi, vs, vj] = T.float32(0)
            C[vi, vs, vj] = C[vi, vs, vj] + A[vi, vs, vk] * B[vk, vj]
)",
                                             likely));
}

TEST(ContractionPlan, TilesHaveRowsOfAnIteratorThatProbablyHasSeveral) {
  const Target target = *NamedTarget("x86-znver4");
  for (const auto& [likely, row] : {std::pair{1, 0}, std::pair{64, 1}}) {
    SCOPED_TRACE(likely);
    Schedule sch{Module(SequencesFirst(likely))};
    Choices choices = Choices::Preferred();
    const Outcome<ContractionPlan> plan = PlanContraction(sch, *sch.GetBlock("C"), target, choices);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->row, row);
    const RegisterTile best = *std::ranges::max_element(plan->tiles, {}, &RegisterTile::efficiency);
    EXPECT_GT(best.rows, 1);
  }
}

}  // namespace
}  // namespace tilewright
