#include "schedule/movement/compute_at.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/movement/compute_at_testing.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::Apply;
using testing::BlockNamed;
using testing::ExpectContains;
using testing::Flat;
using testing::kMatmul;
using testing::LoopsOf;
using testing::ReasonOf;
using testing::Stencil;

// P pads X, Y is a convolution of P with stride 2, in tiles of 4 by 5 outputs and 4 input channels.
constexpr char kConv[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 30, 30, 8), "float32"), W: T.Buffer((3, 3, 8, 2), "float32"), Y: T.Buffer((1, 15, 15, 2), "float32")):
    P = T.alloc_buffer((1, 32, 32, 8))
    for n, h, w, c in T.grid(1, 32, 32, 8):
        with T.block("P"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            T.reads(X[vn, vh - 1, vw - 1, vc])
            T.writes(P[vn, vh, vw, vc])
            P[vn, vh, vw, vc] = T.if_then_else(1 <= vh and vh < 31 and 1 <= vw and vw < 31, X[vn, vh - 1, vw - 1, vc], T.float32(0))
    for n, h_0, w_0, rc_0, h_1, w_1, c, rh, rw, rc_1 in T.grid(1, 4, 3, 2, 4, 5, 2, 3, 3, 4):
        with T.block("Y"):
            vn = T.axis.spatial(1, n)
            vh = T.axis.spatial(15, h_0 * 4 + h_1)
            vw = T.axis.spatial(15, w_0 * 5 + w_1)
            vc, vrh, vrw = T.axis.remap("SRR", [c, rh, rw])
            vrc = T.axis.reduce(8, rc_0 * 4 + rc_1)
            T.where(h_0 * 4 + h_1 < 15)
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + P[vn, vh * 2 + vrh, vw * 2 + vrw, vrc] * W[vrh, vrw, vrc, vc]
)";

TEST(ComputeAt, ComputesTheTileWithItsHalo) {
  ExpectContains(Apply(kConv, "P", "Y", 3, ComputeAt), R"(
for ax0, ax1, ax2 in T.grid(9, 11, 4):
    with T.block("P"):
        vn = T.axis.spatial(1, 0)
        vh = T.axis.spatial(32, h_0 * 8 + ax0)
        vw = T.axis.spatial(32, w_0 * 10 + ax1)
        vc = T.axis.spatial(8, rc_0 * 4 + ax2)
        T.where(h_0 * 8 + ax0 < 32)
)");
  ExpectContains(Apply(Stencil("5, 16", "4, 16"), "B", "C", 0, ComputeAt), R"(
for ax0 in range(18):
    with T.block("B"):
        v = T.axis.spatial(66, i_0 * 16 + ax0)
)");
}

TEST(ComputeAt, CutsPartialTilesByAPredicate) {
  ExpectContains(Apply(kMatmul, "A2", "C2", 2, ComputeAt), R"(
for ax0, ax1 in T.grid(8, 8):
    with T.block("A2"):
        vi = T.axis.spatial(30, i_0 * 8 + ax0)
        vj = T.axis.spatial(20, k_0 * 8 + ax1)
        T.where(i_0 * 8 + ax0 < 30 and k_0 * 8 + ax1 < 20)
)");
  ExpectContains(Apply(kMatmul, "A2", "C2", 0, ComputeAt), R"(
for ax0, ax1 in T.grid(8, 20):
    with T.block("A2"):
        vi = T.axis.spatial(30, i_0 * 8 + ax0)
        vj = T.axis.spatial(20, ax1)
        T.where(i_0 * 8 + ax0 < 30)
)");
  // A reduction moves with all of its iterations.
  const Function moved = Apply(kMatmul, "C2", "C", 1, ComputeAt);
  ExpectContains(moved, R"(
for ax0 in range(20):
    with T.block("C2"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, ax0])
)");
}

TEST(ComputeAt, KeepsUnitLoopsWhenAsked) {
  ExpectContains(Apply(kMatmul, "A2", "C2", 5, ComputeAt), R"(
with T.block("A2"):
    vi = T.axis.spatial(30, i_0 * 8 + i_1)
    vj = T.axis.spatial(20, k_0 * 8 + k_1)
    T.where(i_0 * 8 + i_1 < 30 and k_0 * 8 + k_1 < 20)
)");
  ExpectContains(Apply(kMatmul, "A2", "C2", 5, ComputeAt, /*unit=*/true), R"(
for ax0, ax1 in T.grid(1, 1):
    with T.block("A2"):
        vi = T.axis.spatial(30, i_0 * 8 + i_1 + ax0)
        vj = T.axis.spatial(20, k_0 * 8 + k_1 + ax1)
)");
}

TEST(ComputeAt, InvertsFlatIndices) {
  ExpectContains(Apply(Flat(4, 256), "B", "C", 0, ComputeAt), R"(
for ax0, ax1 in T.grid(4, 64):
    with T.block("B"):
        vi = T.axis.spatial(16, i_0 * 4 + ax0)
        vj = T.axis.spatial(64, ax1)
)");
  ExpectContains(Apply(Flat(32, 32), "B", "C", 0, ComputeAt), R"(
for ax0 in range(32):
    with T.block("B"):
        vi = T.axis.spatial(16, i_0 // 2)
        vj = T.axis.spatial(64, i_0 % 2 * 32 + ax0)
)");
  Apply(Flat(11, 96), "B", "C", 0, ComputeAt);  // chunks across rows: more is computed than needed, nothing is missing
}

TEST(ComputeAt, Refuses) {
  auto reason = [](const std::string& text, const char* block, const char* loops_of, size_t loop, int index = -1) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(ComputeAt(f, BlockNamed(f, block), LoopsOf(f, loops_of)[loop], false, index), f);
  };
  EXPECT_EQ(reason(kMatmul, "C", "C2", 2), "C writes a buffer that outlives its scope");
  EXPECT_EQ(reason(kMatmul, "C2", "C2", 2), "k_0 is around C2");
  EXPECT_EQ(reason(kMatmul, "A2", "C", 0), "C2 consumes what A2 produces and is not below i");
  EXPECT_EQ(reason(kMatmul, "A2", "C2", 2, 1), "A2 cannot be put at 1 in k_0, only at 0 to 0");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("overwrite"):
            v = T.axis.spatial(8, i)
            A[v] = T.float32(0)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                   "B", "C", 0),
            "overwrite overwrites A, which B reads");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.where(i % 2 == 0)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                   "B", "C", 0),
            "the predicate i % 2 == 0 of B says more than that its iterators are inside of their domains");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B_init"):
            v = T.axis.spatial(8, i)
            B[v] = T.float32(0)
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = B[v] + A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
)",
                   "B", "C", 0),
            "B is neither a complete block (block B_init also writes B) nor a reduction (it has no init)");
}

TEST(ComputeAt, SharedMemoryHoldsWhatAllThreadsNeed) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for i in range(64):
        with T.block("S"):
            vi = T.axis.spatial(64, i)
            S[vi] = A[vi]
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(64, bx * 16 + tx)
                B[vi] = S[vi] + T.float32(1)
)");
  Outcome<ComputeAtResult> result = ComputeAt(before, BlockNamed(before, "S"), LoopsOf(before, "B")[1]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  // Not just the element of its own thread.
  ExpectContains(result->function, R"(
            for ax0 in range(16):
                with T.block("S"):
                    vi = T.axis.spatial(64, bx * 16 + ax0))");
}

}  // namespace
}  // namespace tilewright
