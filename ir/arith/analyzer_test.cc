#include "ir/arith/analyzer.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/arith/bind_name.h"
#include "ir/arith/expr_text.h"
#include "ir/arith/same_expr.h"
#include "ir/structural.h"

namespace tilewright::arith {
namespace {

class AnalyzerTest : public testing::Test {
 protected:
  // Checks the form, not only the meaning.
  void Simplifies(const Expr& e, const Expr& expected) {
    for (const Expr& from : {e, expected}) {
      Expr simplified = analyzer_.Simplify(from);
      EXPECT_TRUE(StructuralEqual(simplified, expected))
          << ToText(from) << " became " << ToText(simplified) << ", expected " << ToText(expected);
    }
  }
  Var i{"i"}, j{"j"}, k{"k"}, n{"n"}, m{"m"};
  Analyzer analyzer_;
};

TEST_F(AnalyzerTest, BringsSumsIntoOneForm) {
  Simplifies(j + i * 16, i * 16 + j);
  Simplifies((i + 3) * 4 + i * 2 - 5, i * 6 + 7);
  Simplifies(i + j - i, j);
  Simplifies(5 - i, 5 - i);
  Simplifies(i - 5, i - 5);
  Simplifies(n * m - m * n, 0);
  Simplifies(FloorDiv(i * 3, 2), FloorDiv(i * 3, 2));
  Simplifies(FloorMod(i * 17, 16), FloorMod(i, 16));
}

TEST_F(AnalyzerTest, TakesFusedIndicesApart) {
  analyzer_.Bind(i, Range{0, 30});
  analyzer_.Bind(j, Range{0, 16});
  Simplifies(FloorDiv(i * 16 + j, 16), i);
  Simplifies(FloorMod(i * 16 + j, 16), j);
  Simplifies(FloorDiv(i * 16 + j, 4), i * 4 + FloorDiv(j, 4));
  Simplifies(FloorDiv(i * 16 + j, 32), FloorDiv(i, 2));
  Simplifies(FloorMod(i * 16 + j, 32), FloorMod(i, 2) * 16 + j);
  Simplifies(FloorDiv(i, 4) * 4 + FloorMod(i, 4), i);
  Simplifies(i - FloorDiv(i, 4) * 4, FloorMod(i, 4));
  Simplifies(FloorMod(FloorDiv(k, 16), 4), FloorDiv(FloorMod(k, 64), 16));
}

TEST_F(AnalyzerTest, MergesSplitsOfCompounds) {
  analyzer_.Bind(i, Range{0, 8});
  analyzer_.Bind(j, Range{0, 12});
  Expr fused = i * 12 + j;
  Simplifies(FloorDiv(fused, 5) * 5 + FloorMod(fused, 5), fused);
  Simplifies(FloorDiv(fused, 5), FloorDiv(fused, 5));
}

TEST_F(AnalyzerTest, TakesSymbolicFusedIndicesApart) {
  analyzer_.Bind(i, Range{0, n});
  analyzer_.Bind(j, Range{0, m});
  Simplifies(FloorDiv(i * m + j, m), i);
  Simplifies(FloorMod(i * m + j, m), j);
  Simplifies(FloorDiv(k, n) * n + FloorMod(k, n), k);
  EXPECT_TRUE(analyzer_.CanProve(i * m + j < n * m));
  EXPECT_TRUE(analyzer_.CanProve(Expr(i) < n));
  EXPECT_FALSE(analyzer_.CanProve(Expr(i) < n - 1));
  EXPECT_TRUE(analyzer_.CanProve(FloorDiv(n + 15, 16) * 16 >= n));
}

TEST_F(AnalyzerTest, BoundsDigitsOfSymbolicNumbers) {
  const DataType i64 = DataType::Int(64);
  Var h("h", i64), w("w", i64), f("f", i64);
  analyzer_.Assume(h >= Const(i64, 0));
  analyzer_.Assume(w >= Const(i64, 0));
  {
    Analyzer::Scope scope(&analyzer_);
    analyzer_.Bind(f, Range{Const(i64, 0), h * w});
    EXPECT_TRUE(analyzer_.CanProve(FloorDiv(f, w) < h));
    EXPECT_TRUE(analyzer_.CanProve(FloorMod(f, w) < w));
    EXPECT_FALSE(analyzer_.CanProve(FloorDiv(f, w) < h - 1));
    EXPECT_FALSE(analyzer_.CanProve(FloorDiv(f, h) < h));
    EXPECT_TRUE(analyzer_.CanProve(FloorDiv(f, w) * 2 < h * 2));
    EXPECT_TRUE(analyzer_.CanProve(Expr(1) <= w));
  }
  // Three digits, one of them of 32 bits.
  analyzer_.Assume(n >= Expr(0));
  analyzer_.Bind(f, Range{Const(i64, 0), Expr(n) * h * w});
  EXPECT_TRUE(analyzer_.CanProve(FloorDiv(FloorDiv(f, w), h) < CastTo(i64, n)));
  EXPECT_TRUE(analyzer_.CanProve(FloorMod(FloorDiv(f, w), h) < h));
  EXPECT_TRUE(analyzer_.CanProve(FloorDiv(FloorMod(f, h * w), w) < h));
}

// Tiles of a fused loop: what is unbounded is a multiple of the tile, and what is left is less than one.
TEST_F(AnalyzerTest, ProvesThatTilesOfAFusedLoopAreInside) {
  const Var n("n"), f("f"), x("x");
  const Expr tiles = FloorDiv(n + 63, 64);
  analyzer_.Bind(f, Range{Expr(0), tiles * 4});
  analyzer_.Bind(x, Range{Expr(0), Expr(64)});
  EXPECT_TRUE(analyzer_.CanProve(FloorDiv(f, 4) * 64 + x < tiles * 64));
  EXPECT_FALSE(analyzer_.CanProve(FloorDiv(f, 4) * 64 + x < tiles * 64 - 1));
  EXPECT_FALSE(analyzer_.CanProve(FloorDiv(f, 4) * 64 + x < n));
}

TEST_F(AnalyzerTest, LooksThroughCastsThatFit) {
  const DataType i32 = DataType::Int(32), i64 = DataType::Int(64);
  Var l("l", i64);
  analyzer_.Bind(i, Range{0, 8});
  analyzer_.Bind(j, Range{0, 16});
  analyzer_.Bind(l, Range{Const(i64, 0), Const(i64, 128)});
  Simplifies(FloorDiv(CastTo(i64, i) * 16 + CastTo(i64, j), Const(i64, 16)), CastTo(i64, i));
  Simplifies(CastTo(i32, FloorDiv(l, Const(i64, 16))) * 16 + CastTo(i32, FloorMod(l, Const(i64, 16))), CastTo(i32, l));
  Simplifies(CastTo(i64, CastTo(i32, l)), l);
  EXPECT_TRUE(analyzer_.CanProve(CastTo(i64, i) * 16 + CastTo(i64, j) < Const(i64, 128)));
  // Compared in 64 bits, since that which is divided need not fit 32.
  Var many("many", i64);
  analyzer_.Bind(many, Range{Const(i64, 0), Const(i64, int64_t{1} << 34)});
  Simplifies(CastTo(i32, FloorDiv(many, Const(i64, 8))) < Expr(1), many < Const(i64, 8));
  // It does not fit 32.
  Var large("large", i64);
  Simplifies(CastTo(i64, CastTo(i32, large)), CastTo(i64, CastTo(i32, large)));
}

TEST_F(AnalyzerTest, ComparesInOneForm) {
  Simplifies(i + 1 < Expr(30), Expr(i) < 29);
  Simplifies(Expr(i) >= 1, Expr(1) <= i);
  Simplifies(i * 16 < Expr(30), Expr(i) < 2);
  Simplifies(Not(Expr(i) < 30), Expr(30) <= i);
  Simplifies(i * 2 == Expr(3), False());
  Simplifies(FloorDiv(i, 4) < Expr(3), Expr(i) < 12);
  Simplifies(Expr(1) <= FloorDiv(FloorMod(i, 12), 4), Expr(4) <= FloorMod(i, 12));
  Simplifies(Expr(i) <= n - 1, Expr(i) < n);
  Simplifies(Expr(i) < n + 1, Expr(i) <= n);
  Simplifies(i + 3 < n + 5, Expr(i) < n + 2);
  analyzer_.Bind(i, Range{0, 4});
  analyzer_.Bind(j, Range{0, 16});
  Simplifies(i * 16 + j < Expr(32), Expr(i) < 2);
  Simplifies(i * 16 + j < Expr(30), i * 16 + j < 30);
  Simplifies(i * 16 + j < Expr(64), True());
  Simplifies(And(Expr(i) < 3, Expr(i) < 2), Expr(i) < 2);
  Simplifies(Expr(15) <= j, Expr(j) == 15);
}

// Numbers of memory may have any value of their type: no side gets a sum that the condition does not compute.
TEST_F(AnalyzerTest, ComparesNumbersOfMemoryWithoutOverflow) {
  Buffer numbers("A", {Expr(8)}, DataType::Int(32)), bytes("B", {Expr(8)}, DataType::Int(8));
  const Expr a = numbers(0), b = numbers(1), c = numbers(2);
  Simplifies(a - b < c, a - b < c);
  Simplifies(n - a < Expr(5), n - a < Expr(5));
  Simplifies(a + 3 == b, a + 3 == b);
  Simplifies(a + 3 < Expr(10), a < Expr(7));
  Simplifies(a - b < Expr(0), a < b);
  Simplifies(a + 1 <= n, a < Expr(n));
  Simplifies(a - n < Expr(5), a < n + 5);
  const Expr x = CastTo(DataType::Int(32), bytes(0)), y = CastTo(DataType::Int(32), bytes(1));
  Simplifies(x - y < Expr(5), x < y + 5);
  BindName(i, a, &analyzer_);
  Simplifies(n - i < Expr(5), n - i < Expr(5));
}

TEST_F(AnalyzerTest, UsesAssumptions) {
  analyzer_.Bind(i, Range{0, 86});
  analyzer_.Bind(j, Range{0, 12});
  {
    Analyzer::Scope scope(&analyzer_);
    analyzer_.Assume(i * 12 + j < Expr(1024));
    EXPECT_EQ(analyzer_.ConstBounds(i * 12 + j), (Bounds{0, 1023}));
    Simplifies(FloorDiv(i * 12 + j, 1024), 0);
    EXPECT_TRUE(analyzer_.CanProve(i * 12 + j + k < k + 1024));
  }
  EXPECT_EQ(analyzer_.ConstBounds(i * 12 + j), (Bounds{0, 1031}));
}

TEST_F(AnalyzerTest, UsesKnownRemainders) {
  analyzer_.Assume(FloorMod(n, 16) == Expr(0));
  analyzer_.Assume(FloorMod(m, 8) == Expr(3));
  Simplifies(FloorDiv(n, 16) * 16, n);
  Simplifies(FloorMod(n, 4), 0);
  Simplifies(FloorMod(n * 2 + i * 32 + 5, 32), 5);
  Simplifies(FloorDiv(n + 15, 16), FloorDiv(n, 16));
  Simplifies(FloorMod(m + n, 8), 3);
  EXPECT_TRUE(analyzer_.CanProveDivisible(n * 3, Expr(48)));
  EXPECT_FALSE(analyzer_.CanProveDivisible(Expr(n), Expr(32)));
}

TEST_F(AnalyzerTest, KeepsFloatsExact) {
  DataType f32 = DataType::Float(32);
  Var x("x", f32);
  Simplifies(x * ConstFloat(f32, 1), x);
  Simplifies(x - ConstFloat(f32, 0), x);
  Simplifies(x + ConstFloat(f32, 0), x + ConstFloat(f32, 0));  // -0 + 0 is 0
  Simplifies(x * ConstFloat(f32, 0), x * ConstFloat(f32, 0));  // NaN
  Simplifies(x - x, x - x);
  Simplifies(Not(x < ConstFloat(f32, 1)), Not(x < ConstFloat(f32, 1)));
  Simplifies(ConstFloat(f32, 0.5) + ConstFloat(f32, 0.25), ConstFloat(f32, 0.75));
}

TEST_F(AnalyzerTest, KeepsUnsignedAndNarrowIntegers) {
  DataType u8 = DataType::UInt(8), u32 = DataType::UInt(32), i8 = DataType::Int(8);
  Var x("x", u32), y("y", i8);
  Simplifies(x - Const(u32, 1) + Const(u32, 1), x - Const(u32, 1) + Const(u32, 1));
  Simplifies(Const(u8, 200) + Const(u8, 100), Const(u8, 44));
  Simplifies(Const(i8, 100) + Const(i8, 100), Const(i8, 100) + Const(i8, 100));
  Simplifies(x + Const(u32, 0), x);
  Simplifies(CastTo(DataType::Int(32), y) < Expr(128), True());
  Simplifies(CastTo(i8, CastTo(DataType::Int(32), x)), CastTo(i8, CastTo(DataType::Int(32), x)));
}

// 2^64 - 2 is more than a byte, although it is held as -2.
TEST_F(AnalyzerTest, WrapsUnsignedNumbersOf64Bits) {
  const DataType u64 = DataType::UInt(64);
  const Expr byte = CastTo(u64, Var("b", DataType::UInt(8)));
  const Expr wrapped = Const(u64, 0) - Const(u64, 2);
  EXPECT_FALSE(analyzer_.CanProve(wrapped < byte));
  EXPECT_NE(AsInt(analyzer_.Simplify(wrapped >= byte)), 0);
  EXPECT_NE(AsInt(analyzer_.Simplify(Max(wrapped, byte) >= Const(u64, 300))), 0);
  EXPECT_TRUE(analyzer_.CanProve(byte < Const(u64, 300)));
}

TEST_F(AnalyzerTest, LeavesWhatDoesNotFit) {
  Expr large(int64_t{1} << 30);
  Simplifies(i * large * 4, i * large * 4);
  DataType i64 = DataType::Int(64);
  Var l("l", i64);
  Expr huge = Const(i64, int64_t{1} << 62);
  Simplifies(l * huge * 4, l * huge * 4);
  // The ends of 64 bits are numbers like others, and no bounds.
  const Expr least = Const(i64, INT64_MIN), most = Const(i64, INT64_MAX);
  Simplifies(least < l, least < l);
  Simplifies(least + 1 <= l, least + 1 <= l);
  Simplifies(l < most, l < most);
  Simplifies(FloorMod(l, most), FloorMod(l, most));
  Simplifies(FloorDiv(l, most), FloorDiv(l, most));
  // The sum may not fit 32 bits although it was computed in 64.
  Simplifies(CastTo(DataType::Int(32), l), CastTo(DataType::Int(32), l));
  analyzer_.Bind(i, Range{0, 1 << 20});
  Expr wide = CastTo(i64, i) * Const(i64, 1 << 20) + CastTo(i64, j);
  Simplifies(CastTo(DataType::Int(32), FloorDiv(wide, Const(i64, 3))),
             CastTo(DataType::Int(32), FloorDiv(wide, Const(i64, 3))));
}

TEST_F(AnalyzerTest, KeepsEffectsAndErrors) {
  Expr call = Call(DataType::Int(32), "call_extern", {String("f")});
  Simplifies(call - call, call - call);
  Simplifies(call * 0, call * 0);
  // The value that is not chosen is computed too, and must not divide by zero.
  Simplifies(Select(Expr(j) < 0, FloorMod(n, n + j), 0), Select(Expr(j) < 0, FloorMod(n, n + j), 0));
}

TEST_F(AnalyzerTest, HandlesMinMaxSelectAndCasts) {
  analyzer_.Bind(i, Range{0, 8});
  Simplifies(Min(i, 8), i);
  Simplifies(Min(k + 1, n + 1), Min(k, n) + 1);
  Simplifies(Max(k * 16 + 16, n * 16), Max(k + 1, n) * 16);
  Simplifies(Min(k * 16 + 18, 226) - k * 16, Min(18, 226 - k * 16));
  Simplifies(Min(8, k), Min(8, k));
  Simplifies(Min(Min(k, 8), 4), Min(k, 4));
  Simplifies(Max(i + n, n), i + n);
  Simplifies(Select(Expr(i) < 9, j, k), j);
  Var l("l", DataType::Int(64));
  DataType i64 = DataType::Int(64);
  Simplifies(CastTo(i64, i * 16 + j), CastTo(i64, i) * 16 + CastTo(i64, j));
  Simplifies(CastTo(DataType::Int(32), CastTo(i64, i)), i);
}

// The window of an adaptive pooling, whose end is a choice by its position.
TEST(Analyzer, ChoicesByAVariableOfFewValues) {
  Analyzer analyzer;
  const Var v("v", DataType::Int(64)), k("k", DataType::Int(64));
  analyzer.Bind(v, {0, 3});
  const Expr begin = FloorDiv(v * 10, 3), end = FloorDiv(v * 10 + 10, 3);
  const Expr length = Select(FloorMod(v * 10 + 1, 3) == 0, end, end + 1) - begin;
  EXPECT_TRUE(analyzer.CanProveLessEqual(length, FloorDiv(FloorMod(v, 3) + 10, 3) + 1));
  EXPECT_TRUE(analyzer.CanProveInside({begin, 1 + length - 1 + 1 - 1}, {begin, FloorDiv(FloorMod(v, 3) + 10, 3) + 1}));
  EXPECT_FALSE(analyzer.CanProveLessEqual(length, 3));
  analyzer.Bind(k, {0, length});
  EXPECT_TRUE(analyzer.CanProveLess(k, length));
  EXPECT_TRUE(analyzer.CanProveLess(begin + k, 10));
  EXPECT_FALSE(analyzer.CanProveLess(begin + k, 9));
}

// A dimension that is broadcast where it is one: the index and the loop's length are choices by one condition.
TEST(Analyzer, ChoicesByOneCondition) {
  Analyzer analyzer;
  const DataType i64 = DataType::Int(64);
  const Var v("v", i64), n("n", i64), m("m", i64);
  const Expr zero = Const(i64, 0), one = Const(i64, 1);
  analyzer.Bind(v, {zero, Select(n == one, m, n)});
  EXPECT_TRUE(analyzer.CanProveLess(Select(n == one, zero, v), n));
  EXPECT_TRUE(analyzer.CanProveLess(Select(n == one, v, zero), Select(n == one, m, one)));
  EXPECT_FALSE(analyzer.CanProveLess(Select(n == one, v, zero), n));
  EXPECT_FALSE(analyzer.CanProveLess(v, n));
  EXPECT_FALSE(analyzer.CanProveLess(Select(m == one, zero, v), n));
}

// A choice of which one value is the other one's special case.
TEST(Analyzer, ChoicesWithoutTheirSpecialCase) {
  Analyzer analyzer;
  const DataType i64 = DataType::Int(64);
  const Var v("v", i64), n("n", i64);
  const Expr zero = Const(i64, 0), one = Const(i64, 1), most = Const(i64, 512);
  analyzer.Bind(v, {zero, n});
  EXPECT_TRUE(StructuralEqual(analyzer.Simplify(Select(n == one, zero, v)), v));
  EXPECT_TRUE(StructuralEqual(analyzer.Simplify(Select(n != one, v, zero)), v));
  EXPECT_TRUE(StructuralEqual(analyzer.Simplify(Select(n == one, Min(n, most), n)), n));
  // Not where the other value is another one.
  EXPECT_FALSE(StructuralEqual(analyzer.Simplify(Select(n == one, one, v)), v));
  EXPECT_FALSE(StructuralEqual(analyzer.Simplify(Select(n == Const(i64, 2), zero, v)), v));
}

// What is compared with a number on the near side of a bound is compared without the bound.
TEST(Analyzer, EqualityWithoutBounds) {
  Analyzer analyzer;
  const DataType i64 = DataType::Int(64);
  const Var n("n", i64);
  const auto number = [&](int64_t value) { return Const(i64, value); };
  EXPECT_TRUE(StructuralEqual(analyzer.Simplify(Min(n, number(512)) == number(1)), n == number(1)));
  EXPECT_TRUE(StructuralEqual(analyzer.Simplify(Max(n, number(0)) == number(5)), n == number(5)));
  EXPECT_TRUE(
      StructuralEqual(analyzer.Simplify(Min(n, number(512)) == number(512)), Min(n, number(512)) == number(512)));
  EXPECT_FALSE(analyzer.CanProve(Max(n, number(0)) == number(0)));
}

// A concatenation of many parts: each condition that is known is found among hundreds that differ in a constant.
TEST(Analyzer, ManyChoices) {
  constexpr int kParts = 400;
  const Buffer a("A", {Expr(64)}, DataType::Float(32)), b("B", {Expr(64)}, DataType::Float(32));
  const Var v("v");
  const auto below = [&](int k) { return a(v) < ConstFloat(DataType::Float(32), k); };
  Analyzer analyzer;
  for (int k = 0; k < kParts; ++k) analyzer.Assume(k % 2 == 0 ? below(k) : Not(below(k)));
  for (int round = 0; round < 20; ++round) {
    for (int k = 0; k < kParts; ++k) {
      const Expr known = analyzer.Simplify(below(k));
      EXPECT_TRUE(k % 2 == 0 ? IsTrue(known) : IsFalse(known)) << k;
    }
  }
  EXPECT_FALSE(isa<IntImmNode>(analyzer.Simplify(b(v) < ConstFloat(DataType::Float(32), 1))));
}

// What SameExpr calls the same has one outline, however it was made.
TEST(Analyzer, OutlinesOfTheSameAreTheSame) {
  const Buffer a("A", {Expr(64)}, DataType::Float(32));
  const Var v("v"), w("w");
  const auto make = [&] {
    return std::vector<Expr>{v + 1,
                             v + 2,
                             w + 1,
                             v * 1,
                             v < w,
                             w < v,
                             v < 5 - w * 3,
                             Not(v < w),
                             a(v),
                             a(w) < a(v),
                             CastTo(DataType::Int(64), v),
                             CastTo(DataType::Int(64), v + 1),
                             Select(v < w, v, w),
                             Call(DataType::Float(32), "exp", {a(v)}),
                             ((((v + 1) * w + 2) * w + 3) * w + 4) * w};
  };
  const std::vector<Expr> once = make(), again = make();
  for (const Expr& x : once) {
    for (const Expr& y : again) {
      if (SameExpr(x, y)) EXPECT_EQ(Outline(x), Outline(y));
    }
  }
  for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(SameExpr(once[i], again[i])) << i;
  EXPECT_NE(Outline(once[0]), Outline(once[1]));
  EXPECT_NE(Outline(once[4]), Outline(once[5]));
}

// A concatenation of many lengths: what was not proven is not tried again, until more is known.
TEST(Analyzer, ManyLengths) {
  Analyzer analyzer;
  const Var v("v");
  Expr total(0), some;
  for (int k = 0; k < 24; ++k) {
    const Var length("n" + std::to_string(k));
    analyzer.Assume(length >= 1);
    total = total + length;
    if (k == 1) some = total;
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(analyzer.CanProveLess(v, total));
    Analyzer::Scope inside(&analyzer);
    analyzer.Assume(v < some);
    EXPECT_TRUE(analyzer.CanProveLess(v, total));
    EXPECT_TRUE(analyzer.CanProveLess(v, some));
    EXPECT_FALSE(analyzer.CanProveLess(v + 23, total));
  }
  EXPECT_FALSE(analyzer.CanProveLess(v, some));
}

// A chain of logic is simplified part by part: as nested pairs, each of which walks twice over what stands before it,
// 24 parts are 2^24 walks.
// The second part leaves its type where the first one decides.
TEST(Analyzer, PartsThatGuardOverflowsStay) {
  const Var i("i"), j("j");
  Analyzer analyzer;
  analyzer.Bind(i, Range{-100, 200});
  analyzer.Bind(j, Range{0, 22});
  const auto stays = [&](const Expr& guarded) {
    const Expr simplified = analyzer.Simplify(Or(Expr(2) <= j, guarded));
    const auto* op = dyn_cast<BinaryNode>(simplified);
    return op != nullptr && op->op == BinaryOp::kOr;
  };
  EXPECT_FALSE(stays(i < j * 100));
  EXPECT_TRUE(stays(i < j * 2147483647));
  EXPECT_TRUE(stays(j * 2147483647 - 2 < j * 100 - i));
}

TEST(Analyzer, LongChainsOfLogic) {
  Analyzer analyzer;
  const Var v("v");
  Expr total(0), all, any;
  for (int k = 0; k < 24; ++k) {
    total = total + Var("n" + std::to_string(k));
    all = all ? And(all, v < total) : v < total;
    any = any ? Or(any, v < total) : v < total;
  }
  for (const Expr& chain : {all, any}) {
    const Expr simplified = analyzer.Simplify(chain);
    EXPECT_TRUE(StructuralEqual(analyzer.Simplify(simplified), simplified));
  }
}

TEST_F(AnalyzerTest, LeavesOutImpliedPartsOfChains) {
  const auto all = [](Expr a, Expr b, Expr c, Expr d) { return And(And(And(a, b), c), d); };
  const auto any = [](Expr a, Expr b, Expr c, Expr d) { return Or(Or(Or(a, b), c), d); };
  const Expr x = i < n, y = j < m, z = k < n;
  Simplifies(all(x, y, i < n + 1, z), And(And(x, y), z));
  Simplifies(all(i < n + 1, y, x, z), And(And(y, x), z));
  Simplifies(all(i < n + 1, j < m + 1, x, y), And(x, y));
  EXPECT_EQ(AsInt(analyzer_.Simplify(all(x, y, z, n < i))), 0);
  Simplifies(any(x, y, i < n - 1, z), Or(Or(x, y), z));
  Simplifies(any(i < n - 1, y, x, z), Or(Or(y, x), z));
  EXPECT_EQ(AsInt(analyzer_.Simplify(any(x, y, z, n <= i))), 1);
  // Chains of the other operator are parts.
  Simplifies(And(And(Or(x, y), Or(x, z)), x), x);
  Simplifies(And(x, And(Or(x, y), z)), And(x, z));
}

}  // namespace
}  // namespace tilewright::arith
