#include "schedule/layout/reindex.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/blocks/transform_block_layout.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ReasonOf;

constexpr char kConv[] = R"(
@T.prim_func
def main(P: T.Buffer((1, 12, 12, 4), "float32"), W: T.Buffer((3, 3, 4, 2), "float32"), Y: T.Buffer((1, 5, 5, 2), "float32")):
    for n, h, w, c, rh, rw, rc in T.grid(1, 5, 5, 2, 3, 3, 4):
        with T.block("Y"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + P[vn, vh * 2 + vrh, vw * 2 + vrw, vrc] * W[vrh, vrw, vrc, vc]
)";

Function Reindexed(const Function& f, const BufferSelector& buffer) {
  Outcome<ReindexResult> result = Reindex(f, BlockNamed(f, "Y"), buffer);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

TEST(Reindex, IteratorsOfOneValueHaveDimensionsWhenAskedFor) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((12, 4), "float32"), Y: T.Buffer((12,), "float32")):
    for h, rh, rc in T.grid(12, 1, 4):
        with T.block("Y"):
            vh, vrh, vrc = T.axis.remap("SRR", [h, rh, rc])
            with T.init():
                Y[vh] = T.float32(0)
            Y[vh] = Y[vh] + P[vh + vrh, vrc]
)");
  const auto dimensions = [&](bool skip_simplify) {
    Outcome<ReindexResult> result = Reindex(f, BlockNamed(f, "Y"), BufferSelector::Read(0), {}, skip_simplify);
    EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
    ExpectEquivalent(f, result->function);
    return FindBlock(result->function, result->block)->block->writes[0].region.size();
  };
  EXPECT_EQ(dimensions(false), 2u);
  EXPECT_EQ(dimensions(true), 3u);
}

TEST(Reindex, MakesTheOperandsOfAConvolution) {
  const Function f = ParseFunctionOrDie(kConv);
  Function g = Reindexed(f, BufferSelector::Read(0));
  g = Reindexed(g, BufferSelector::Named("W"));
  g = Reindexed(g, BufferSelector::Write(0));
  ExpectEquivalent(f, g);
  testing::ExpectProgram(g, R"(
@T.prim_func
def main(P: T.Buffer((1, 12, 12, 4), "float32"), W: T.Buffer((3, 3, 4, 2), "float32"), Y: T.Buffer((1, 5, 5, 2), "float32")):
    P_reindex = T.alloc_buffer((1, 5, 5, 3, 3, 4))
    W_reindex = T.alloc_buffer((2, 3, 3, 4))
    Y_reindex = T.alloc_buffer((1, 5, 5, 2))
    for ax0, ax1, ax2, ax3, ax4, ax5 in T.grid(1, 5, 5, 3, 3, 4):
        with T.block("P_reindex_reindex"):
            v0, v1, v2, v3, v4, v5 = T.axis.remap("SSSSSS", [ax0, ax1, ax2, ax3, ax4, ax5])
            P_reindex[v0, v1, v2, v3, v4, v5] = P[v0, v1 * 2 + v3, v2 * 2 + v4, v5]
    for ax0, ax1, ax2, ax3 in T.grid(2, 3, 3, 4):
        with T.block("W_reindex_reindex"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            W_reindex[v0, v1, v2, v3] = W[v1, v2, v3, v0]
    for n, h, w, c, rh, rw, rc in T.grid(1, 5, 5, 2, 3, 3, 4):
        with T.block("Y"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                Y_reindex[vn, vh, vw, vc] = T.float32(0)
            Y_reindex[vn, vh, vw, vc] = Y_reindex[vn, vh, vw, vc] + P_reindex[vn, vh, vw, vrh, vrw, vrc] * W_reindex[vc, vrh, vrw, vrc]
    for ax0, ax1, ax2, ax3 in T.grid(1, 5, 5, 2):
        with T.block("Y_reindex"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            Y[v0, v1, v2, v3] = Y_reindex[v0, v1, v2, v3]
)");
}

TEST(Reindex, KeepsDimensions) {
  const Function f = ParseFunctionOrDie(kConv);
  const auto kept = [&](std::vector<int64_t> dims) {
    Outcome<ReindexResult> result = Reindex(f, BlockNamed(f, "Y"), BufferSelector::Read(0), dims);
    EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
    return result.ok() ? result->function : f;
  };
  const Function rows = kept({1});
  ExpectEquivalent(f, rows);
  testing::ExpectProgram(rows, R"(
@T.prim_func
def main(P: T.Buffer((1, 12, 12, 4), "float32"), W: T.Buffer((3, 3, 4, 2), "float32"), Y: T.Buffer((1, 5, 5, 2), "float32")):
    P_reindex = T.alloc_buffer((1, 11, 5, 3, 4))
    for ax0, ax1, ax2, ax3, ax4 in T.grid(1, 11, 5, 3, 4):
        with T.block("P_reindex_reindex"):
            v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [ax0, ax1, ax2, ax3, ax4])
            P_reindex[v0, v1, v2, v3, v4] = P[v0, v1, v2 * 2 + v3, v4]
    for n, h, w, c, rh, rw, rc in T.grid(1, 5, 5, 2, 3, 3, 4):
        with T.block("Y"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + P_reindex[vn, vh * 2 + vrh, vw, vrw, vrc] * W[vrh, vrw, vrc, vc]
)");
  const Function both = kept({2, 1});
  ExpectEquivalent(f, both);
  ExpectContains(both, "P_reindex = T.alloc_buffer((1, 11, 11, 4))");
  ExpectContains(both, "T.reads(P_reindex[vn, vh * 2 + vrh, vw * 2 + vrw, vrc], W[vrh, vrw, vrc, vc])");
  // The channels have an iterator of their own: it stays, under another name.
  ExpectContains(kept({3}), "P_reindex = T.alloc_buffer((1, 5, 5, 3, 3, 4))");
}

TEST(Reindex, KeepsMultiples) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((20, 7), "float32"), W: T.Buffer((3, 7), "float32"), Y: T.Buffer((5, 7), "float32")):
    for h, c, r in T.grid(5, 7, 3):
        with T.block("Y"):
            vh, vc, vr = T.axis.remap("SSR", [h, c, r])
            with T.init():
                Y[vh, vc] = T.float32(0)
            Y[vh, vc] = Y[vh, vc] + P[vh * 2 + vr * 4, vc] * W[vr, vc]
)");
  Outcome<ReindexResult> result = Reindex(f, BlockNamed(f, "Y"), BufferSelector::Read(0), {0});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectContains(result->function, "P_reindex = T.alloc_buffer((9, 7))");
  ExpectContains(result->function, "P_reindex[v0, v1] = P[v0 * 2, v1]");
  ExpectContains(result->function, "Y[vh, vc] = Y[vh, vc] + P_reindex[vr * 2 + vh, vc] * W[vr, vc]");
}

TEST(Reindex, RefusesToKeep) {
  const auto reason = [](const char* text, const BufferSelector& buffer, std::vector<int64_t> kept) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(Reindex(f, BlockNamed(f, "Y"), buffer, kept), f);
  };
  EXPECT_EQ(reason(kConv, BufferSelector::Read(0), {4}), "P has no dimension 4");
  EXPECT_EQ(reason(kConv, BufferSelector::Read(0), {-1}), "P has no dimension -1");
  EXPECT_EQ(reason(kConv, BufferSelector::Read(0), {1, 1}), "dimension 1 of P is to be kept twice");
  EXPECT_EQ(reason(kConv, BufferSelector::Write(0), {1}), "dimensions of Y, which Y writes, cannot be kept");
  const std::string rows = R"(
@T.prim_func
def main(X: T.Buffer((16, 8), "float32"), Y: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("Y"):
            v, r = T.axis.remap("SR", [i, j])
            with T.init():
                Y[v] = T.float32(0)
            Y[v] = Y[v] + X[INDEX, r]
)";
  const auto at = [&](const char* index) {
    std::string text = rows;
    text.replace(text.find("INDEX"), 5, index);
    return reason(text.c_str(), BufferSelector::Named("X"), {0});
  };
  EXPECT_EQ(at("v"), "accepted");
  EXPECT_EQ(at("v + r"), "the iterator r is in the index v + r of X, which is to be kept, and in another");
  const std::string gaps = ", which is to be kept, does not take all multiples of a number";
  EXPECT_EQ(reason(kConv, BufferSelector::Read(0), {0, 1}), "the index vn of P" + gaps);
  EXPECT_EQ(at("v * 2"), "accepted");
  EXPECT_EQ(at("0"), "the index 0 of X" + gaps);
  EXPECT_EQ(at("v + 1"), "the index v + 1 of X, which is to be kept, does not take all multiples of a number");
  EXPECT_EQ(at("7 - v"), "the index 7 - v of X" + gaps);
  EXPECT_EQ(at("v // 2"), "the index v // 2 of X" + gaps);
}

TEST(Reindex, Refuses) {
  auto reason = [](const char* text, const BufferSelector& buffer) {
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(Reindex(f, BlockNamed(f, "Y"), buffer), f);
  };
  EXPECT_EQ(reason(kConv, BufferSelector::Read(2)), "Y reads 2 regions, there is no number 2");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = T.if_then_else(1 <= v, X[v - 1], T.float32(0))
)",
                   BufferSelector::Read(0)),
            "the index v - 1 may leave X, and the copy would not be guarded as Y is");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((7,), "float32")):
    for i in range(7):
        with T.block("Y"):
            v = T.axis.spatial(7, i)
            Y[v] = X[v] + X[v + 1]
)",
                   BufferSelector::Read(0)),
            "Y accesses X at different indices");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), at: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = X[at[v]]
)",
                   BufferSelector::Named("X")),
            "the index at[v] of X does not follow from the iterators of Y");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v // 2] = X[v]
)",
                   BufferSelector::Write(0)),
            "instances of Y may write the same element of Y");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = Y[v] + X[v]
)",
                   BufferSelector::Named("Y")),
            "Y also reads Y");
  EXPECT_EQ(reason(R"(
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = X[v]
        with T.block("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = B[v]
)",
                   BufferSelector::Read(0)),
            "B writes B below a loop of Y");
}

TEST(TransformBlockLayout, FusesIterators) {
  const Function f = Reindexed(ParseFunctionOrDie(kConv), BufferSelector::Write(0));
  const Var n("n"), h("h"), w("w"), c("c"), rh("rh"), rw("rw"), rc("rc");
  const IndexMap fuse({n, h, w, c, rh, rw, rc}, {n * 25 + h * 5 + w, c, (rh * 3 + rw) * 4 + rc});
  const uint32_t y = BlockNamed(f, "Y");
  Outcome<TransformBlockLayoutResult> result = TransformBlockLayout(f, y, fuse);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  EXPECT_EQ(BlockNamed(result->function, "Y"), y);
  ExpectEquivalent(f, result->function);
  ExpectContains(result->function, R"(
for ax0, ax1, ax2 in T.grid(25, 2, 36):
    with T.block("Y"):
        v0, v1, v2 = T.axis.remap("SSR", [ax0, ax1, ax2])
        T.reads(P[0, v0 // 5 * 2 + v2 // 12, v0 % 5 * 2 + v2 % 12 // 4, v2 % 4], W[v2 // 12, v2 % 12 // 4, v2 % 4, v1])
        T.writes(Y_reindex[0, v0 // 5, v0 % 5, v1])
)");
}

TEST(TransformBlockLayout, SplitsAndPermutesIterators) {
  const Function f = testing::Matmul(8, 8, 8);
  const Var i("i"), j("j"), k("k");
  const IndexMap tile({i, j, k}, {FloorDiv(k, 4), FloorDiv(i, 4), j, FloorMod(i, 4), FloorMod(k, 4)});
  Outcome<TransformBlockLayoutResult> result = TransformBlockLayout(f, BlockNamed(f, "C"), tile);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, result->function);
  ExpectContains(result->function, R"(
for ax0, ax1, ax2, ax3, ax4 in T.grid(2, 2, 8, 4, 4):
    with T.block("C"):
        v0, v1, v2, v3, v4 = T.axis.remap("RSSSR", [ax0, ax1, ax2, ax3, ax4])
        T.reads(A[v1 * 4 + v3, v0 * 4 + v4], B[v2, v0 * 4 + v4])
        T.writes(C[v1 * 4 + v3, v2])
)");
}

TEST(TransformBlockLayout, KeepsTheTypeOfIterators) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((T.int64(8),), "float32"), B: T.Buffer((T.int64(8),), "float32")):
          for i in range(T.int64(8)):
              with T.block("B"):
                  vi = T.axis.spatial(T.int64(8), i)
                  B[vi] = A[vi])");
  const Var i("i");
  const IndexMap tile({i}, {FloorDiv(i, 4), FloorMod(i, 4)});
  Outcome<TransformBlockLayoutResult> result = TransformBlockLayout(f, BlockNamed(f, "B"), tile);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  testing::ExpectContains(result->function, "for ax0, ax1 in T.grid(T.int64(2), T.int64(4)):");
  testing::ExpectContains(result->function, "B[v0 * T.int64(4) + v1] = A[v0 * T.int64(4) + v1]");
}

TEST(TransformBlockLayout, IteratorsOfOneIterationAreSpatial) {
  const Function f = testing::Matmul(8, 8, 1);
  const Var i("i"), j("j"), k("k");
  Outcome<TransformBlockLayoutResult> result =
      TransformBlockLayout(f, BlockNamed(f, "C"), IndexMap({i, j, k}, {j, i, k}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectContains(result->function, R"(v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2]))");
  ExpectEquivalent(f, result->function);
}

TEST(TransformBlockLayout, Refuses) {
  const Var i("i"), j("j"), k("k");
  const Function f = testing::Matmul(8, 8, 8);
  auto reason = [&](const Function& function, const IndexMap& map) {
    return ReasonOf(TransformBlockLayout(function, BlockNamed(function, "C"), map), function);
  };
  EXPECT_EQ(reason(f, IndexMap({i, j}, {i, j})), "the map takes 2 iterators, C has 3");
  EXPECT_EQ(reason(f, IndexMap({i, j, k}, {FloorDiv(i, 4), j, k})),
            "the map is not known to be bijective over the iterators of C");
  EXPECT_EQ(reason(f, IndexMap({i, j, k}, {i * 8 + k, j})), "i * 8 + k mixes iterators of C of different kinds");
  EXPECT_EQ(ReasonOf(TransformBlockLayout(f, 1, IndexMap({}, {})), f), "root is the root block");
  const Function split = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, j in T.grid(4, 2):
        with T.block("C"):
            v = T.axis.spatial(8, i * 2 + j)
            C[v] = A[v]
)");
  EXPECT_EQ(reason(split, IndexMap({i}, {i})), "the iterators of C are not loops, one each");
  const Function chain = testing::ElementwiseInOneNest(8, 8, 0);
  EXPECT_EQ(reason(chain, IndexMap({i, j}, {j, i})), "j holds more than C");
  // New loops are serial; what a thread runs is not to be run by all.
  const std::string loops[] = {"T.parallel(8)", "T.thread_binding(8, thread=\"threadIdx.x\")"};
  const char* outcomes[] = {"accepted", "i is bound to a thread"};
  for (size_t n = 0; n < 2; ++n) {
    const Function not_serial = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in )" + loops[n] + R"(:
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
)");
    EXPECT_EQ(reason(not_serial, IndexMap({i}, {i})), outcomes[n]);
  }
}

}  // namespace
}  // namespace tilewright
