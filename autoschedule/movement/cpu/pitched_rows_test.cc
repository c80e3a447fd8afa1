#include "autoschedule/movement/cpu/pitched_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

Function Convolution(const std::vector<Expr>& image, const ops::Window& window) {
  return ops::Conv({.batch = 2,
                    .spatial = image,
                    .in_channels = 3,
                    .out_channels = 4,
                    .windows = ops::Same(window, static_cast<int>(image.size()))});
}

// How many places in the fused rows of the only contraction there are; 0 where there is none.
int64_t Places(const Function& op) {
  Schedule sch{Module(op)};
  for (const BlockRv block : BlocksInRoot(sch, op->name)) {
    const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch, block));
    if (!contraction.ok()) continue;
    const std::optional<PitchedRows> rows = FuseRowsAtPitch(sch, block, *contraction);
    if (!rows) return 0;
    const Function after = sch.module().Main();
    testing::ExpectEquivalent(op, after);
    EXPECT_EQ(VerifyProgram(after).diagnostics.size(), 0u) << Render(VerifyProgram(after), after);
    const Contraction fused = *MatchContraction(RealizeOf(sch, block));
    EXPECT_EQ(fused.rows.size(), contraction->rows.size() - 1);
    return *ExtentOf(RealizeOf(sch, block).block->iter_vars[static_cast<size_t>(fused.rows.back())]);
  }
  return 0;
}

TEST(PitchedRows, FusesRowsAndWhatIsBetweenThem) {
  EXPECT_EQ(Places(Convolution({4, 5}, {3, 1, 1})), 3 * 7 + 5);
  EXPECT_EQ(Places(Convolution({6, 5}, {.kernel = 2})), 4 * 5 + 4);
  EXPECT_EQ(Places(Convolution({6, 5}, {.kernel = 2, .padding = 1, .dilation = 2})), 5 * 7 + 5);
  EXPECT_EQ(Places(Convolution({3, 3, 4}, {3, 1, 1})), 2 * 6 + 4);
  EXPECT_EQ(Places(Convolution({8}, {3, 1, 1})), 10 + 8);  // of two images
}

TEST(PitchedRows, LeavesOthers) {
  EXPECT_EQ(Places(Convolution({6, 6}, {3, 2, 1})), 0);      // places are two elements apart
  EXPECT_EQ(Places(Convolution({6, 6}, {.kernel = 1})), 0);  // no windows
  EXPECT_EQ(Places(Convolution({1, 8}, {3, 1, 1})), 0);      // no other rows
}

TEST(PitchedRows, WritesWhatConsumersCompute) {
  const Function op = ParseOrDie(R"(
@T.prim_func
def main(X: T.Buffer((6, 7, 2), "float32"), F: T.Buffer((3, 3, 2, 4), "float32"), B: T.Buffer((4,), "float32"), Y: T.Buffer((4, 5, 4), "float32")):
    C = T.alloc_buffer((4, 5, 4), "float32")
    for h, w, o, r, s, c in T.grid(4, 5, 4, 3, 3, 2):
        with T.block("C"):
            vh, vw, vo, vr, vs, vc = T.axis.remap("SSSRRR", [h, w, o, r, s, c])
            with T.init():
                C[vh, vw, vo] = T.float32(0)
            C[vh, vw, vo] += X[vh + vr, vw + vs, vc] * F[vr, vs, vc, vo]
    for h, w, o in T.grid(4, 5, 4):
        with T.block("Y"):
            vh, vw, vo = T.axis.remap("SSS", [h, w, o])
            Y[vh, vw, vo] = T.max(C[vh, vw, vo] + B[vo], T.float32(0))
)")
                          .Main();
  EXPECT_EQ(Places(op), 3 * 7 + 5);
}

TEST(PitchedRows, LeavesWhatOthersRead) {
  const Function op = ParseOrDie(R"(
@T.prim_func
def main(X: T.Buffer((6, 7, 2), "float32"), F: T.Buffer((3, 3, 2, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
    C = T.alloc_buffer((4, 5, 4), "float32")
    for h, w, o, r, s, c in T.grid(4, 5, 4, 3, 3, 2):
        with T.block("C"):
            vh, vw, vo, vr, vs, vc = T.axis.remap("SSSRRR", [h, w, o, r, s, c])
            with T.init():
                C[vh, vw, vo] = T.float32(0)
            C[vh, vw, vo] += X[vh + vr, vw + vs, vc] * F[vr, vs, vc, vo]
    for h, o, w in T.grid(4, 4, 5):
        with T.block("Y"):
            vh, vo, vw = T.axis.remap("SSR", [h, o, w])
            with T.init():
                Y[vh, vo] = T.float32(0)
            Y[vh, vo] += C[vh, vw, vo]
)")
                          .Main();
  EXPECT_EQ(Places(op), 0);
}

}  // namespace
}  // namespace tilewright
