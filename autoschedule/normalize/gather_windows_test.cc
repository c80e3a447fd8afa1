#include "autoschedule/normalize/gather_windows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// Two phases of windows of two elements, each of its own weights, of 16 channels for `outputs` others.
std::string Phases(int outputs, const std::string& term = "X[vc, vh + vp + vr] * W[vc, vo, vp, vr]") {
  const std::string n = std::to_string(outputs);
  return R"(
@T.prim_func
def main(X: T.Buffer((16, 11), "float32"), W: T.Buffer((16, )" +
         n + R"(, 2, 2), "float32"), Y: T.Buffer(()" + n + R"(, 18), "float32")):
    for o, h, p, c, r in T.grid()" +
         n + R"(, 9, 2, 16, 2):
        with T.block("Y"):
            vo, vh, vp, vc, vr = T.axis.remap("SSSRR", [o, h, p, c, r])
            with T.init():
                Y[vo, vh * 2 + vp] = T.float32(0)
            Y[vo, vh * 2 + vp] = Y[vo, vh * 2 + vp] + )" +
         term + "\n";
}

// What is chosen, empty where there is no choice, and the shape of the sums, empty where there are none.
struct Gathered {
  std::string label;
  std::vector<int64_t> sums;
};
Gathered GatheredOf(const std::string& text, Choices choices = Choices::Preferred(),
                    const std::string& target = "x86-znver4") {
  const Module module(ParseFunctionOrDie(text));
  Schedule sch(module);
  GatherWindows(sch, "main", *NamedTarget(target), choices);
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  Gathered gathered;
  if (!choices.made().empty()) gathered.label = choices.made()[0].label();
  if (const auto sums = sch.GetBlock("Y_sums"); sums.ok()) {
    for (const Expr& extent : RealizeOf(sch, *sums).block->writes[0].buffer->shape) {
      gathered.sums.push_back(*AsInt(extent));
    }
  }
  return gathered;
}

using Extents = std::vector<int64_t>;

// 16 channels at 9 places of 2 phases, two each, are copied; of the sums there are 3 * 2 * 2 at 11 places.
TEST(GatherWindows, FewOutputsAreGathered) {
  const Gathered gathered = GatheredOf(Phases(3));
  EXPECT_EQ(gathered.label, "gathered");
  EXPECT_EQ(gathered.sums, (Extents{12, 11}));
}

// The same for a batch of a symbolic size, whose indices are of 64 bits.
TEST(GatherWindows, SymbolicBatchesAreGathered) {
  const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(x: T.handle, W: T.Buffer((T.int64(16), T.int64(3), T.int64(2), T.int64(2)), "float32"), y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, T.int64(16), T.int64(11)))
    Y = T.match_buffer(y, (n, T.int64(3), T.int64(18)))
    for b, o, h, p, c, r in T.grid(n, T.int64(3), T.int64(9), T.int64(2), T.int64(16), T.int64(2)):
        with T.block("Y"):
            vb, vo, vh, vp, vc, vr = T.axis.remap("SSSSRR", [b, o, h, p, c, r])
            with T.init():
                Y[vb, vo, vh * T.int64(2) + vp] = T.float32(0)
            Y[vb, vo, vh * T.int64(2) + vp] += X[vb, vc, vh + vp + vr] * W[vc, vo, vp, vr]
)");
  Schedule sch{Module(program)};
  Choices choices = Choices::Preferred();
  GatherWindows(sch, "main", *NamedTarget("x86-znver4"), choices);
  ASSERT_EQ(choices.made().size(), 1u);
  EXPECT_EQ(choices.made()[0].label(), "gathered");
  for (const int64_t n : {1, 3}) {
    testing::ExpectEquivalent(AtSizes(program, {{"n", n}}), AtSizes(sch.module().Main(), {{"n", n}}));
  }
}

TEST(GatherWindows, IsAChoice) {
  const Gathered copied = GatheredOf(Phases(3), Choices::GivenOrPreferred({Choice::Of("Y.window", "copied")}));
  EXPECT_EQ(copied.label, "copied");
  EXPECT_EQ(copied.sums, Extents());
}

// 576 elements are copied and 108 stored one by one, 264 and 216 of the sums moved.
TEST(GatherWindows, StoresOfPhasesCount) {
  EXPECT_EQ(GatheredOf(Phases(6)).label, "gathered");
  EXPECT_EQ(GatheredOf(Phases(8)).label, "gathered");
}

TEST(GatherWindows, ManyOutputsAreNot) { EXPECT_EQ(GatheredOf(Phases(16)).label, "copied"); }

// The window does not move rows, two phases of each of 7: each has its own sums, 12 * 2 * 2 * 2 * 7 * 11 of them.
TEST(GatherWindows, RowsHaveTheirOwnSums) {
  const std::string rows = R"(
@T.prim_func
def main(X: T.Buffer((16, 8, 11), "float32"), W: T.Buffer((16, OUTPUTS, 2, 4), "float32"),
         Y: T.Buffer((OUTPUTS, 14, 18), "float32")):
    for o, g, q, h, p, c, r in T.grid(OUTPUTS, 7, 2, 9, 2, 16, 2):
        with T.block("Y"):
            vo, vg, vq, vh, vp, vc, vr = T.axis.remap("SSSSSRR", [o, g, q, h, p, c, r])
            with T.init():
                Y[vo, vg * 2 + vq, vh * 2 + vp] = T.float32(0)
            Y[vo, vg * 2 + vq, vh * 2 + vp] += ELEMENT * W[vc, vo, vq, vr * 2 + vp]
)";
  const auto gathered = [&](const std::string& outputs, const std::string& element) {
    return GatheredOf(absl::StrReplaceAll(rows, {{"OUTPUTS", outputs}, {"ELEMENT", element}}));
  };
  EXPECT_EQ(gathered("3", "X[vc, vg + vq, vh + vp + vr]").label, "gathered");
  EXPECT_EQ(gathered("12", "X[vc, vg + vq, vh + vp + vr]").label, "copied");
  // The condition alone keeps rows inside of the image. Sums at places of the weights would be for each output.
  const std::string bordered = "T.if_then_else(1 <= vg + vq, X[vc, vg + vq - 1, vh + vp + vr], T.float32(0))";
  EXPECT_EQ(gathered("3", bordered).label, "");
  EXPECT_EQ(gathered("3", bordered).sums, Extents());
}

TEST(GatherWindows, OtherFormsHaveNoChoice) {
  // No window: each place is one of a phase.
  EXPECT_EQ(GatheredOf(Phases(3, "X[vc, vh] * W[vc, vo, vp, vr]")).label, "");
  EXPECT_EQ(GatheredOf(Phases(3), Choices::Preferred(), "cuda-sm90a").label, "");
}

}  // namespace
}  // namespace tilewright
