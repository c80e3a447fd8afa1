#include "autoschedule/normalize/join_phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// Two phases of windows of two elements, each of its own weights, for `channels` outputs.
std::string Phases(int channels, const std::string& constants) {
  const std::string n = std::to_string(channels);
  return R"(
@T.prim_func
def main(X: T.Buffer((11, 4), "float32"), W: T.Buffer((2, 2, 4, )" +
         n + R"(), "float32"), Y: T.Buffer((9, 2, )" + n + R"(), "float32")):
    T.func_attr({"tilewright.constant_params": )" +
         constants + R"(})
    for h, p, o, r, c in T.grid(9, 2, )" +
         n + R"(, 2, 4):
        with T.block("Y"):
            vh, vp, vo, vr, vc = T.axis.remap("SSSRR", [h, p, o, r, c])
            with T.init():
                Y[vh, vp, vo] = T.float32(0)
            Y[vh, vp, vo] = Y[vh, vp, vo] + X[vh + vp + vr, vc] * W[vp, vr, vc, vo]
)";
}

// What is chosen, empty where there is no choice, and the extents of the iterators of Y.
struct Joined {
  std::string label;
  std::vector<int64_t> extents;
};
Joined JoinedOf(const std::string& text, Choices choices = Choices::Preferred()) {
  const Module module(ParseFunctionOrDie(text));
  Schedule sch(module);
  JoinPhases(sch, "main", *NamedTarget("x86-znver4"), choices);
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  Joined joined;
  if (!choices.made().empty()) joined.label = choices.made()[0].label();
  for (const IterVar& iter : RealizeOf(sch, *sch.GetBlock("Y")).block->iter_vars)
    joined.extents.push_back(*ExtentOf(iter));
  return joined;
}

using Extents = std::vector<int64_t>;

// Vectors have 16 lanes: 2 * 2 products of 3 of 16 columns, or 3 of 6 of 16.
TEST(JoinPhases, FewChannelsShareAVector) {
  const Joined joined = JoinedOf(Phases(3, "[1]"));
  EXPECT_EQ(joined.label, "joined");
  EXPECT_EQ(joined.extents, (Extents{9, 6, 3, 4}));  // h; p and o; r, c
}

TEST(JoinPhases, IsAChoice) {
  const Joined apart = JoinedOf(Phases(3, "[1]"), Choices::GivenOrPreferred({Choice::Of("Y.phases", "apart")}));
  EXPECT_EQ(apart.label, "apart");
  EXPECT_EQ(apart.extents, (Extents{9, 2, 3, 2, 4}));
}

// 16 channels fill a vector: 4 products of one vector, or 3 of two.
TEST(JoinPhases, ChannelsThatFillVectorsAreLeft) {
  const Joined left = JoinedOf(Phases(16, "[1]"));
  EXPECT_EQ(left.label, "");
  EXPECT_EQ(left.extents, (Extents{9, 2, 16, 2, 4}));
}

// The zeros between weights would be written in each call.
TEST(JoinPhases, WeightsMustBeConstant) { EXPECT_EQ(JoinedOf(Phases(3, "[]")).label, ""); }

}  // namespace
}  // namespace tilewright
