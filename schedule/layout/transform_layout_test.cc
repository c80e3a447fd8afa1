#include "schedule/layout/transform_layout.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectProgram;
using testing::ReasonOf;

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    for i, j in T.grid(60, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j_0, j_1 in T.grid(60, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            vj = T.axis.spatial(64, j_0 * 16 + j_1)
            C[vi, vj] = B[vi, vj] + T.float32(1)
)";

// lambda i, j: (i // a, j, i % a)
IndexMap SplitFirst(int a) {
  Var i("i"), j("j");
  return IndexMap({i, j}, {FloorDiv(i, a), j, FloorMod(i, a)});
}
IndexMap Constant(float value, size_t rank) {
  return IndexMap(std::vector<Var>(rank, Var("i")), {ConstFloat(DataType::Float(32), value)});
}

TEST(TransformLayout, ChangesShapeIndicesAndRegions) {
  const Function f = ParseFunctionOrDie(kProgram);
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "C"), BufferSelector::Read(0), SplitFirst(4));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((15, 64, 4))
    for i, j in T.grid(60, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 4, vj, vi % 4] = A[vi, vj] * T.float32(2)
    for i, j_0, j_1 in T.grid(60, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            vj = T.axis.spatial(64, j_0 * 16 + j_1)
            C[vi, vj] = B[vi // 4, vj, vi % 4] + T.float32(1)
)");
}

TEST(TransformLayout, ChangesTheShapeOfAParameterByName) {
  const Function f = ParseFunctionOrDie(kProgram);
  Var i("i"), j("j");
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Named("A"), IndexMap({i, j}, {j, i}));
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((64, 60), "float32"), C: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((60, 64))
    for i, j in T.grid(60, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)
    for i, j_0, j_1 in T.grid(60, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            vj = T.axis.spatial(64, j_0 * 16 + j_1)
            C[vi, vj] = B[vi, vj] + T.float32(1)
)");
}

TEST(TransformLayout, MapsTheRegionsOfTiles) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for io, jo in T.grid(4, 4):
        with T.block("tile"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            T.reads(A[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            T.writes(C[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            for i, j in T.grid(16, 16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vio * 16 + vi, vjo * 16 + vj] = A[vio * 16 + vi, vjo * 16 + vj]
)");
  Var i("i"), j("j");
  const IndexMap pack({i, j}, {FloorDiv(i, 8), FloorDiv(j, 16), FloorMod(i, 8), FloorMod(j, 16)});
  Outcome<TransformLayoutResult> result = TransformLayout(f, BlockNamed(f, "tile"), BufferSelector::Read(0), pack);
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((8, 4, 8, 16), "float32"), C: T.Buffer((64, 64), "float32")):
    for io, jo in T.grid(4, 4):
        with T.block("tile"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            T.reads(A[vio * 2:vio * 2 + 2, vjo, 0:8, 0:16])
            T.writes(C[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            for i, j in T.grid(16, 16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vio * 16 + vi, vjo * 16 + vj] = A[vio * 2 + vi // 8, vjo, vi % 8, vj]
)");
}

constexpr char kMatched[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for io, jo in T.grid(4, 4):
        with T.block("tile"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            T.reads(A[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            T.writes(C[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            A_1 = T.match_buffer(A[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16], (16, 16), strides=("s", 1), offset_factor=1)
            for i, j in T.grid(16, 16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vio * 16 + vi, vjo * 16 + vj] = A_1[vi, vj]
)";

TEST(TransformLayout, KeepsMatchedTilesWhole) {
  const Function f = ParseFunctionOrDie(kMatched);
  Var i("i"), j("j");
  const IndexMap pack({i, j}, {FloorDiv(i, 16), FloorDiv(j, 16), FloorMod(i, 16), FloorMod(j, 16)});
  Outcome<TransformLayoutResult> result = TransformLayout(f, BlockNamed(f, "tile"), BufferSelector::Read(0), pack);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((4, 4, 16, 16), "float32"), C: T.Buffer((64, 64), "float32")):
    for io, jo in T.grid(4, 4):
        with T.block("tile"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            T.reads(A[vio, vjo, 0:16, 0:16])
            T.writes(C[vio * 16:vio * 16 + 16, vjo * 16:vjo * 16 + 16])
            A_1 = T.match_buffer(A[vio, vjo, 0:16, 0:16], (16, 16), strides=("s", 1), offset_factor=1)
            for i, j in T.grid(16, 16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vio * 16 + vi, vjo * 16 + vj] = A_1[vi, vj]
)");
  const IndexMap cut({i, j}, {FloorDiv(i, 8), FloorDiv(j, 16), FloorMod(i, 8), FloorMod(j, 16)});
  EXPECT_EQ(ReasonOf(TransformLayout(f, BlockNamed(f, "tile"), BufferSelector::Read(0), cut), f),
            "tile matches a part of A that does not keep its shape in the new layout");
  const IndexMap transposed({i, j}, {j, i});
  EXPECT_EQ(ReasonOf(TransformLayout(f, BlockNamed(f, "tile"), BufferSelector::Read(0), transposed), f),
            "tile matches a part of A that does not keep its shape in the new layout");
}

TEST(TransformLayout, IteratorsOfOneValueStay) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 8), "float32")):
    for n, i in T.grid(1, 8):
        with T.block("B"):
            vn, vi = T.axis.remap("SS", [n, i])
            B[vn, vi] = A[vn, vi]
)");
  const Var n("n"), i("i");
  Outcome<TransformLayoutResult> result = TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Write(0),
                                                          IndexMap({n, i}, {FloorDiv(i, 4), n, FloorMod(i, 4)}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((1, 8), "float32"), B: T.Buffer((2, 1, 4), "float32")):
    for n, i in T.grid(1, 8):
        with T.block("B"):
            vn, vi = T.axis.remap("SS", [n, i])
            B[vi // 4, vn, vi % 4] = A[vn, vi]
)");
}

TEST(TransformLayout, TheWriterFillsThePadding) {
  const Function f = ParseFunctionOrDie(kProgram);
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "C"), BufferSelector::Read(0), SplitFirst(16), Constant(3, 3));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((4, 64, 16))
    for axis0, j, axis2 in T.grid(4, 64, 16):
        with T.block("B"):
            v_axis0, v_j, v_axis2 = T.axis.remap("SSS", [axis0, j, axis2])
            B[v_axis0, v_j, v_axis2] = T.if_then_else(v_axis0 == 3 and 12 <= v_axis2, T.float32(3), A[v_axis0 * 16 + v_axis2, v_j] * T.float32(2))
    for i, j_0, j_1 in T.grid(60, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            vj = T.axis.spatial(64, j_0 * 16 + j_1)
            C[vi, vj] = B[vi // 16, vj, vi % 16] + T.float32(1)
)");
}

TEST(TransformLayout, LeavesThePaddingUnwrittenWhereTheCallerSaysSo) {
  const Function f = ParseFunctionOrDie(kProgram);
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "C"), BufferSelector::Read(0), SplitFirst(16), IndexMap(), Padding::kUnwritten);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((60, 64), "float32"), C: T.Buffer((60, 64), "float32")):
    B = T.alloc_buffer((4, 64, 16))
    for i, j in T.grid(60, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 16, vj, vi % 16] = A[vi, vj] * T.float32(2)
    for i, j_0, j_1 in T.grid(60, 4, 16):
        with T.block("C"):
            vi = T.axis.spatial(60, i)
            vj = T.axis.spatial(64, j_0 * 16 + j_1)
            C[vi, vj] = B[vi // 16, vj, vi % 16] + T.float32(1)
)");
  Var i("i"), j("j");
  EXPECT_EQ(ReasonOf(TransformLayout(f, BlockNamed(f, "C"), BufferSelector::Read(0),
                                     IndexMap({i, j}, {FloorDiv(i, 16), j}), IndexMap(), Padding::kUnwritten),
                     f),
            "the map is not known to give each element of B a place of its own");
}

TEST(TransformLayout, KeepsTheTypeOfTheShape) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((T.int64(12), T.int64(8)), "float32"), B: T.Buffer((T.int64(12), T.int64(8)), "float32")):
    for i, j in T.grid(T.int64(12), T.int64(8)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
)");
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Write(0), SplitFirst(4));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((T.int64(12), T.int64(8)), "float32"), B: T.Buffer((T.int64(3), T.int64(8), T.int64(4)), "float32")):
    for i, j in T.grid(T.int64(12), T.int64(8)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // T.int64(4), vj, vi % T.int64(4)] = A[vi, vj]
)");
}

// The writer stores to another buffer too.
TEST(TransformLayout, FillsThePaddingBehindAWriterThatIsNoNestOfItsOwn) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), D: T.Buffer((14,), "int32"), E: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]
            D[vi] = 0
    for i in range(14):
        with T.block("E"):
            vi = T.axis.spatial(14, i)
            E[vi] = B[vi]
)");
  const Var i("i");
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Named("B"),
                      IndexMap({i}, {FloorDiv(i, 4), FloorMod(i, 4)}), IndexMap({Var("a"), Var("b")}, {Expr(7)}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), D: T.Buffer((14,), "int32"), E: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4] = A[vi]
            D[vi] = 0
    for axis0, axis1 in T.grid(4, 4):
        with T.block("buffer_B_padding"):
            v_axis0, v_axis1 = T.axis.remap("SS", [axis0, axis1])
            T.where(axis0 == 3 and 2 <= axis1)
            B[v_axis0, v_axis1] = 7
    for i in range(14):
        with T.block("E"):
            vi = T.axis.spatial(14, i)
            E[vi] = B[vi // 4, vi % 4]
)");
}

// A block for each column of the buffer, and a loop that holds the second one and its reader.
TEST(TransformLayout, FillsThePaddingBehindTheLastWriter) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), E: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((14, 2), "int32")
    for i in range(14):
        with T.block("first"):
            vi = T.axis.spatial(14, i)
            B[vi, 0] = A[vi]
    for i in range(14):
        with T.block("second"):
            vi = T.axis.spatial(14, i)
            B[vi, 1] = A[vi]
        with T.block("E"):
            vi = T.axis.spatial(14, i)
            E[vi] = B[vi, 1]
)");
  const Var i("i"), j("j");
  Outcome<TransformLayoutResult> result = TransformLayout(f, BlockNamed(f, "second"), BufferSelector::Named("B"),
                                                          IndexMap({i, j}, {FloorDiv(i, 4), FloorMod(i, 4), j}),
                                                          IndexMap({Var("a"), Var("b"), Var("c")}, {Expr(0)}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), E: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((4, 4, 2), "int32")
    for i in range(14):
        with T.block("first"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4, 0] = A[vi]
    for i in range(14):
        with T.block("second"):
            vi = T.axis.spatial(14, i)
            B[vi // 4, vi % 4, 1] = A[vi]
        with T.block("E"):
            vi = T.axis.spatial(14, i)
            E[vi] = B[vi // 4, vi % 4, 1]
    for axis0, axis1, j in T.grid(4, 4, 2):
        with T.block("buffer_B_padding"):
            v_axis0, v_axis1, v_j = T.axis.remap("SSS", [axis0, axis1, j])
            T.where(axis0 == 3 and 2 <= axis1)
            B[v_axis0, v_axis1, v_j] = 0
)");
}

TEST(TransformLayout, FillsNoPaddingBehindThreads) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.thread_binding(14, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]
)");
  const Var i("i");
  EXPECT_EQ(ReasonOf(TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Write(0),
                                     IndexMap({i}, {FloorDiv(i, 4), FloorMod(i, 4)}),
                                     IndexMap({Var("a"), Var("b")}, {Expr(0)})),
                     f),
            "B writes B in threads of i; a loop around them fills no padding");
}

// The tile would declare elements of the padding as written.
TEST(TransformLayout, FillsNoPaddingBehindTiles) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), C: T.Buffer((14,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    for io in range(2):
        with T.block("tile"):
            vio = T.axis.spatial(2, io)
            T.reads(A[vio * 7:vio * 7 + 7])
            T.writes(B[vio * 7:vio * 7 + 7])
            for i in range(7):
                with T.block("B"):
                    vi = T.axis.spatial(7, i)
                    B[vio * 7 + vi] = A[vio * 7 + vi]
    for i in range(14):
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
)");
  const Var i("i");
  EXPECT_EQ(ReasonOf(TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Named("B"),
                                     IndexMap({i}, {FloorDiv(i, 4), FloorMod(i, 4)}),
                                     IndexMap({Var("a"), Var("b")}, {Expr(0)})),
                     f),
            "tile declares several elements of B at once, with padding that is not filled yet");
}

TEST(TransformLayout, AssumesThePaddingOfAParameter) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]
)");
  const Var i("i");
  Outcome<TransformLayoutResult> result =
      TransformLayout(f, BlockNamed(f, "B"), BufferSelector::Read(0), IndexMap({i}, {FloorDiv(i, 4), FloorMod(i, 4)}),
                      IndexMap({Var("a"), Var("b")}, {Expr(42)}));
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectProgram(result->function, R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for axis0, axis1 in T.grid(4, 4):
        with T.block("buffer_A_assumptions"):
            v_axis0, v_axis1 = T.axis.remap("SS", [axis0, axis1])
            T.reads(A[v_axis0, v_axis1])
            T.writes()
            T.assume(not (v_axis0 == 3 and 2 <= v_axis1) or A[v_axis0, v_axis1] == 42)
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi // 4, vi % 4]
)");
}

TEST(TransformLayout, Refuses) {
  const Function f = ParseFunctionOrDie(kProgram);
  const uint32_t c = BlockNamed(f, "C");
  Var i("i"), j("j");
  auto reason = [&](BufferSelector buffer, const IndexMap& map, const IndexMap& pad = {}) {
    return ReasonOf(TransformLayout(f, c, buffer, map, pad), f);
  };
  const BufferSelector b = BufferSelector::Read(0);
  EXPECT_EQ(reason(BufferSelector::Read(3), SplitFirst(4)), "C reads 1 regions, there is no number 3");
  EXPECT_EQ(reason(BufferSelector::Named("X"), SplitFirst(4)), "C accesses no buffer X");
  EXPECT_EQ(reason(b, IndexMap({i}, {i})), "the map takes 1 indices, B has 2 dimensions");
  EXPECT_EQ(reason(b, IndexMap({i, j}, {FloorDiv(i, 4), j})),
            "the map is not known to give each element of B a place of its own");
  EXPECT_EQ(reason(b, SplitFirst(16)), "the map pads B where 60 <= i0 * 16 + i2, and there is no pad_value");
  EXPECT_EQ(reason(b, SplitFirst(16), Constant(0, 2)), "pad_value must take 3 indices and give one value");
}

}  // namespace
}  // namespace tilewright
