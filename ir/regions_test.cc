#include "ir/regions.h"

#include <gtest/gtest.h>

#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

void ExpectRange(const Range& range, const Expr& min, int64_t extent) {
  EXPECT_TRUE(StructuralEqual(range.min, min));
  EXPECT_EQ(AsInt(range.extent), extent);
}

Stmt Loop(const Var& var, int extent, Stmt body) {
  return For({.var = var, .extent = Expr(extent), .body = std::move(body)});
}

// C[vi * 16 + i, vj * 16 + j] += A[vi * 16 + i, k] * B[k, vj * 16 + j]
TEST(Regions, RelaxesInnerLoops) {
  Buffer a("A", {64, 8}, kF32), b("B", {8, 64}, kF32), c("C", {64, 64}, kF32);
  Var vi("vi"), vj("vj"), i("i"), j("j"), k("k");
  Expr row = vi * 16 + i, column = vj * 16 + j;
  Stmt body = Loop(i, 16, Loop(j, 16, Loop(k, 8, Store(c, c(row, column) + a(row, k) * b(k, column), {row, column}))));
  AccessRegions regions = DetectRegions(body);
  ASSERT_EQ(regions.reads.size(), 3u);
  EXPECT_TRUE(regions.reads[0].buffer.same_as(c));
  EXPECT_TRUE(regions.reads[1].buffer.same_as(a));
  ExpectRange(regions.reads[1].region[0], vi * 16, 16);
  ExpectRange(regions.reads[1].region[1], 0, 8);
  ExpectRange(regions.writes[0].region[1], vj * 16, 16);
}

// The number of iterations is one number although a loop around stands in it.
TEST(Regions, LoopsThatStandInExtents) {
  Buffer a("A", {32, 64}, kF32), c("C", {64}, kF32);
  Var vi("vi"), p("p"), i("i");
  const Stmt body =
      For({.var = i, .extent = FloorDiv(17 - FloorMod(Expr(p), Expr(2)), Expr(2)), .body = Store(c, a(vi, i), {vi})});
  const AccessRegions regions = DetectRegions(Loop(p, 17, body));
  ASSERT_EQ(regions.reads.size(), 1u);
  ExpectRange(regions.reads[0].region[1], 0, 8);
}

// Loops of one iteration, and tiles between multiples of the divisor, do not blur what is divided.
TEST(Regions, RelaxesDivisions) {
  Var f("f"), h("h"), n("n"), i("i");
  const Domains one = {{h, {Expr(0), Expr(1)}}}, ten = {{i, {Expr(0), Expr(10)}}};
  const auto point = [](const Expr& e) { return Range{e, Expr(1)}; };
  ExpectRange(*RelaxRange(point(FloorMod(f + h, Expr(4))), one), FloorMod(f + Expr(0), Expr(4)), 1);
  ExpectRange(*RelaxRange(point(FloorDiv(f + h, n)), one), FloorDiv(f + Expr(0), n), 1);
  ExpectRange(*RelaxRange(point(FloorDiv(h * 16, Expr(4)) + 1), one), 1, 1);
  ExpectRange(*RelaxRange(point(FloorMod(f * 10 + i, Expr(100))), ten), FloorMod(f, Expr(10)) * 10, 10);
  ExpectRange(*RelaxRange(point(FloorMod(f * 10 + i, Expr(40))), ten), FloorMod(f, Expr(4)) * 10, 10);
  ExpectRange(*RelaxRange(point(FloorDiv(f * 20 + i, Expr(40))), ten), FloorDiv(f, Expr(2)), 1);
  // A tile may lie across a multiple of 45, and one of 10 that begins anywhere across one of 100.
  ExpectRange(*RelaxRange(point(FloorMod(f * 10 + i, Expr(45))), ten), 0, 45);
  ExpectRange(*RelaxRange(point(FloorMod(f + i, Expr(100))), ten), 0, 100);
}

// Names stand for their values, also in values of other names and in ranges of loops.
TEST(Regions, PutsValuesInPlaceOfNames) {
  Buffer a("A", {64}, kF32), c("C", {64}, kF32), n("n", {1}, DataType::Int(32));
  Var vi("vi"), i("i"), first("first"), next("next");
  const auto reading = [&](const Expr& value) {
    const Stmt loop = For({.var = i, .min = next, .extent = Expr(4), .body = Store(c, a(next) + a(i), {i})});
    return DetectRegions(LetStmt(first, value, LetStmt(next, first + 1, loop)));
  };
  const AccessRegions known = reading(vi * 2);
  ASSERT_EQ(known.reads.size(), 1u);
  ExpectRange(known.reads[0].region[0], vi * 2 + 1, 4);
  ExpectRange(known.writes[0].region[0], vi * 2 + 1, 4);
  const AccessRegions from_memory = reading(n(0));
  ExpectRange(from_memory.writes[0].region[0], 0, 64);
}

// A loop as far as memory says that is written before: the region is that of the buffer, not one in terms of the
// memory.
TEST(Regions, LoopsAsFarAsChangedMemoryTouchAll) {
  Buffer c("C", {64}, kF32), n("n", {1}, DataType::Int(32));
  Var i("i");
  const Stmt loop = For({.var = i, .extent = n(0), .body = Store(c, Const(kF32, 0), {i})});
  EXPECT_FALSE(IsInt(DetectRegions(loop).writes[0].region[0].extent, 64));
  const AccessRegions changed = DetectRegions(Sequence({Store(n, Expr(3), {Expr(0)}), loop}));
  ASSERT_EQ(changed.writes.size(), 2u);
  ExpectRange(changed.writes[1].region[0], 0, 64);
}

TEST(Regions, ReductionDoesNotListItsOutput) {
  Buffer a("A", {8}, kF32), c("C", {1}, kF32);
  Var vk("vk");
  BlockNode::Fields block{.name = "C",
                          .iter_vars = {{vk, {Expr(0), Expr(8)}, IterKind::kReduce}},
                          .init = Store(c, Const(kF32, 0), {Expr(0)}),
                          .body = Store(c, c(0) + a(vk), {Expr(0)})};
  AccessRegions regions = DetectRegions(BlockNode(block));
  ASSERT_EQ(regions.reads.size(), 1u);
  EXPECT_TRUE(regions.reads[0].buffer.same_as(a));
  EXPECT_EQ(regions.writes.size(), 1u);
}

// Another row of an output is read as any other array is.
TEST(Regions, ReductionListsOtherElementsOfItsOutput) {
  Var v("v", DataType::Int(32)), k("k", DataType::Int(32));
  Buffer x("X", {9, 16}, DataType::Float(32));
  BlockNode::Fields block;
  block.name = "X";
  block.init = Store(x, Const(DataType::Float(32), 0), {v + 1, k});
  block.body = Store(x, x(v + 1, k) + x(v, Expr(3)), {v + 1, k});
  const AccessRegions regions = DetectRegions(BlockNode(block));
  ASSERT_EQ(regions.reads.size(), 1u);
  EXPECT_TRUE(regions.reads[0].region[0].min.same_as(v));
}

TEST(Regions, HullOfSeveralAccesses) {
  Buffer a("A", {64}, kF32), b("B", {64}, kF32);
  Var i("i");
  AccessRegions regions = DetectRegions(Loop(i, 8, Store(b, a(i + 2) + a(i * 3 + 10), {7 - i})));
  ExpectRange(regions.reads[0].region[0], 2, 30);  // [2, 9] and [10, 31]
  ExpectRange(regions.writes[0].region[0], 0, 8);
}

TEST(Regions, UnknownIndexIsTheWholeDimension) {
  Buffer a("A", {64}, kF32), index("I", {8}, DataType::Int(32)), b("B", {8}, kF32);
  Var i("i");
  AccessRegions regions = DetectRegions(Loop(i, 8, Store(b, a(index(i)), {i})));
  ASSERT_EQ(regions.reads.size(), 2u);
  ExpectRange(regions.reads[0].region[0], 0, 8);
  ExpectRange(regions.reads[1].region[0], 0, 64);
}

// What an instruction accesses its body says: an attribute's value is not executed.
TEST(Regions, ValuesOfAttributes) {
  Buffer a("A", {64}, kF32), b("B", {64}, kF32);
  const Expr call = Call(DataType::Void(), "f", {Call(DataType::Handle(), std::string(kAddressOf), {a(0)})});
  const Stmt copy = Store(b, a(Expr(3)), {Expr(4)});
  AccessRegions regions = DetectRegions(Stmt(new AttrStmtNode(Expr(0), "instruction", call, copy)));
  ASSERT_EQ(regions.reads.size(), 1u);
  ExpectRange(regions.reads[0].region[0], 3, 1);
  ASSERT_EQ(regions.writes.size(), 1u);
  EXPECT_TRUE(regions.writes[0].buffer.same_as(b));
}

TEST(Regions, DivisionAndModulo) {
  Var i("i"), x("x");
  Domains domains = {{i, {Expr(5), Expr(10)}}};
  ExpectRange(*RelaxRange({FloorDiv(i, 4), Expr(1)}, domains), 1, 3);
  ExpectRange(*RelaxRange({FloorMod(i, 16), Expr(1)}, domains), 5, 10);
  ExpectRange(*RelaxRange({FloorMod(i, 8), Expr(1)}, domains), 0, 8);
  ExpectRange(*RelaxRange({Ramp(i * 4, 1, 4), Expr(1)}, domains), 20, 40);
  EXPECT_FALSE(RelaxRange({i * x, Expr(1)}, domains).has_value());
}

// for i in range(13): for j in range(8): if i * 8 + j < 100: A[i * 8 + j] = 0
TEST(Regions, UndeclaredOnesAreInsideOfBuffers) {
  Buffer a("A", {100}, kF32);
  Var i("i"), j("j");
  const Stmt guarded = If(i * 8 + j < 100, Store(a, Const(kF32, 0), {i * 8 + j}));
  BlockNode::Fields fields;
  fields.name = "B";
  fields.body = Loop(i, 13, Loop(j, 8, guarded));
  const Block block = WithUndeclaredRegions(Block(std::move(fields)));
  ASSERT_EQ(block->writes.size(), 1u);
  ExpectRange(block->writes[0].region[0], 0, 100);
}

}  // namespace
}  // namespace tilewright
