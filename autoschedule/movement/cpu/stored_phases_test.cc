#include "autoschedule/movement/cpu/stored_phases.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// A sum of two windows for each of two phases, whose results are stored at `index`.
Module Phases(const std::string& index, int elements = 18) {
  return Module(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(X: T.Buffer((4, 11), "float32"), W: T.Buffer((2, 2), "float32"), Y: T.Buffer((4, $1), "float32")):
    for h, w, q, r in T.grid(4, 9, 2, 2):
        with T.block("Y"):
            vh, vw, vq, vr = T.axis.remap("SSSR", [h, w, q, r])
            with T.init():
                Y[vh, $0] = T.float32(0)
            Y[vh, $0] = Y[vh, $0] + X[vh, vw + vq + vr] * W[vq, vr]
)",
                                                    index, elements)));
}

TEST(StoredPhases, AreNeighbours) {
  const Module module = Phases("vw * 2 + vq");
  Schedule sch(module);
  const BlockRv block = *sch.GetBlock("Y");
  const std::optional<StoredPhases> phases = StoredPhasesOf(*RealizeOf(sch, block).block);
  ASSERT_TRUE(phases.has_value());
  EXPECT_EQ(phases->along, 1U);
  EXPECT_EQ(phases->phase, 2U);
  EXPECT_EQ(phases->count, 2);
  const Outcome<BlockRv> copy = StageOutput(sch, block, "register");
  ASSERT_TRUE(copy.ok());
  ASSERT_TRUE(FuseStoredPhases(sch, *copy));
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  const Block fused = RealizeOf(sch, *copy).block;
  ASSERT_EQ(fused->iter_vars.size(), 2U);
  EXPECT_EQ(ExtentOf(fused->iter_vars[1]), 18);
}

// Gaps, more phases than lanes are picked from, phases that overlap.
TEST(StoredPhases, OthersAreNone) {
  for (const char* index : {"vw * 3 + vq", "vq * 9 + vw", "vw * 2 + vq * 2"}) {
    Schedule sch(Phases(index, 27));
    EXPECT_FALSE(StoredPhasesOf(*RealizeOf(sch, *sch.GetBlock("Y")).block).has_value()) << index;
  }
}

}  // namespace
}  // namespace tilewright
