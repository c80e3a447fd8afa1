#include "ir/arith/int_set.h"

#include <gtest/gtest.h>

#include "ir/arith/expr_text.h"
#include "ir/arith/region.h"

namespace tilewright::arith {
namespace {

class IntSetTest : public testing::Test {
 protected:
  std::string Set(const Expr& e, const Domain& relaxed, const Expr& predicate = {}) {
    IntSet set = EvalSet(e, relaxed, &analyzer_, predicate);
    std::string text = "[" + ToText(set.min) + ", " + ToText(set.max) + "]";
    return set.stride == 1 ? text : text + " stride " + std::to_string(set.stride);
  }
  static std::string Text(const std::optional<Region>& region) {
    if (!region) return "none";
    std::string text;
    for (const Range& range : *region) text += "[" + ToText(range.min) + "; " + ToText(range.extent) + "]";
    return text;
  }
  Var i{"i"}, j{"j"}, n{"n"}, k{"k"};
  Analyzer analyzer_;
};

TEST_F(IntSetTest, RelaxesSums) {
  Domain ij = {{i, {0, 4}}, {j, {0, 16}}};
  EXPECT_EQ(Set(i * 16 + j + n, ij), "[n, n + 63]");
  EXPECT_EQ(Set(i * 4 + 1, ij), "[1, 13] stride 4");
  EXPECT_EQ(Set(15 - j, ij), "[0, 15]");
  EXPECT_EQ(Set(Expr(n), ij), "[n, n] stride 0");
  EXPECT_EQ(Set(FloorDiv(i * 16 + j, 5), ij), "[0, 12]");
  EXPECT_EQ(Set(FloorMod(i * 16 + j, 5), ij), "[0, 4]");
  EXPECT_EQ(Set(Max(i - 1, 0), ij), "[0, 2]");
}

TEST_F(IntSetTest, RelaxesSymbolicRanges) {
  Domain symbolic = {{i, {0, n}}, {j, {0, 16}}};
  EXPECT_EQ(Set(i * 16 + j, symbolic), "[0, n * 16 - 1]");
  EXPECT_EQ(Set(j * n + i, symbolic), "[0, n * 16 - 1]");
  // The range of j depends on i.
  EXPECT_EQ(Set(Expr(j), {{i, {0, 4}}, {j, {i * 16, 16}}}), "[0, 63]");
}

TEST_F(IntSetTest, UsesPredicates) {
  Domain ij = {{i, {0, FloorDiv(n + 15, 16)}}, {j, {0, 16}}};
  EXPECT_EQ(Set(i * 16 + j, ij, i * 16 + j < n), "[0, n - 1]");
  Domain constant = {{i, {0, 86}}, {j, {0, 12}}};
  EXPECT_EQ(Set(i * 12 + j, constant, i * 12 + j < Expr(1024)), "[0, 1023]");
}

TEST_F(IntSetTest, CombinesSets) {
  IntSet a = IntSet::FromRange({n, 4}), b = IntSet::FromRange({n + 8, 4});
  IntSet both = Union(a, b, &analyzer_);
  EXPECT_EQ(ToText(both.min), "n");
  EXPECT_EQ(ToText(both.max), "n + 11");
  EXPECT_TRUE(CanProveContains(both, a, &analyzer_));
  EXPECT_FALSE(CanProveContains(a, both, &analyzer_));
}

TEST_F(IntSetTest, EstimatesRegions) {
  Domain loop = {{i, {0, 4}}};
  EXPECT_EQ(Text(MayTouch({{i * 16, 16}}, loop, {}, &analyzer_)), "[0; 64]");
  EXPECT_EQ(Text(MustCover({{i * 16, 16}}, loop, {}, &analyzer_)), "[0; 64]");
  EXPECT_EQ(Text(MayTouch({{i * 32, 16}}, loop, {}, &analyzer_)), "[0; 112]");
  EXPECT_EQ(Text(MustCover({{i * 32, 16}}, loop, {}, &analyzer_)), "none");
  // A diagonal touches a box but does not cover it.
  EXPECT_EQ(Text(MayTouch({{i, 1}, {i, 1}}, loop, {}, &analyzer_)), "[0; 4][0; 4]");
  EXPECT_EQ(Text(MustCover({{i, 1}, {i, 1}}, loop, {}, &analyzer_)), "none");
  // Sliding windows.
  EXPECT_EQ(Text(MustCover({{i * 2, 3}}, loop, {}, &analyzer_)), "[0; 9]");
  // Outer variables stay.
  EXPECT_EQ(Text(MustCover({{k * 64 + i * 16, 16}}, loop, {}, &analyzer_)), "[k * 64; 64]");
}

TEST_F(IntSetTest, CoversWithOverlap) {
  // A convolution reads h * 2 + r, a slice of a larger image.
  Domain loops = {{i, {0, 8}}, {j, {0, 3}}};
  EXPECT_EQ(Text(MustCover({{k * 16 + i * 2 + j, 1}}, loops, {}, &analyzer_)), "[k * 16; 17]");
  EXPECT_EQ(Text(MustCover({{i * 4 + j, 1}}, loops, {}, &analyzer_)), "none");
  EXPECT_EQ(Text(MustCover({{i * 2 + j, 1}, {j, 1}}, loops, {}, &analyzer_)), "none");
  // Remainders of values in a row, wherever they begin.
  EXPECT_EQ(Text(MustCover({{FloorMod(k * 16 + i * 2 + j, 17), 1}}, loops, {}, &analyzer_)), "[0; 17]");
  EXPECT_EQ(Text(MustCover({{FloorMod(k * 16 + i * 2 + j, 18), 1}}, loops, {}, &analyzer_)), "none");
}

// Conditions on a dimension cut the box off where they begin.
TEST_F(IntSetTest, CoversUpToBorders) {
  const Domain loops = {{i, {0, 2}}, {j, {0, 128}}};
  const Expr f = i * 128 + j;
  const Region tile = {{FloorDiv(f, 10), 1}, {k * 10 + FloorMod(f, 10), 1}};
  const Expr whole = f < Expr(160);
  const Expr border = k * 10 + FloorMod(f, 10) < Expr(64);
  analyzer_.Bind(k, Range{0, 7});
  EXPECT_EQ(Text(MustCover(tile, loops, And(border, whole), &analyzer_)), "[0; 16][k * 10; min(64 - k * 10, 10)]");
  EXPECT_EQ(Text(MustCover(tile, loops, And(whole, Expr(3) <= k * 10 + FloorMod(f, 10)), &analyzer_)),
            "[0; 16][max(k * 10, 3); 10 - max(0, 3 - k * 10)]");
  // The condition is of a sum of both dimensions.
  EXPECT_EQ(Text(MustCover(tile, loops, And(whole, FloorDiv(f, 10) + FloorMod(f, 10) < Expr(12)), &analyzer_)), "none");
}

// What each k does for no i is not done, though the place does not depend on i.
TEST_F(IntSetTest, CoversNothingWhereAPredicateLeavesNoIteration) {
  const Domain loop = {{i, {0, 5}}};
  const Expr few = k * 5 + i < Expr(2);
  analyzer_.Bind(k, Range{0, 5});
  EXPECT_EQ(Text(MustCover({{k, 1}}, loop, few, &analyzer_)), "none");
  EXPECT_EQ(Text(MustCover({{k, 1}}, loop, k * 5 + i < Expr(21), &analyzer_)), "[k; 1]");
}

// Whatever t is, some i has a part: the place does not depend on either.
TEST_F(IntSetTest, CoversWhatSomeIterationTouches) {
  const Domain loop = {{i, {0, 2}}};
  Var t("t");
  analyzer_.Bind(t, Range{0, 32});
  EXPECT_EQ(Text(MustCover({{k, 1}}, loop, i * 32 + t < Expr(50), &analyzer_)), "[k; 1]");
  EXPECT_EQ(Text(MustCover({{k, 1}}, loop, i * 32 + t < Expr(20), &analyzer_)), "none");
  // No i does both.
  EXPECT_EQ(Text(MustCover({{k, 1}}, loop, And(i * 32 + t < Expr(50), Expr(1) <= i), &analyzer_)), "none");
}

TEST_F(IntSetTest, CoversHalosUpToTheBorder) {
  // A producer computes 18 rows for each tile of 16, but none beyond the border; its consumer reads 18 rows.
  analyzer_.Bind(k, Range{0, 15});
  Domain rows = {{i, {0, 18}}};
  Expr row = k * 16 + i;
  auto provided = MustCover({{row, 1}}, rows, row < Expr(226), &analyzer_);
  ASSERT_TRUE(provided);
  std::string reason;
  EXPECT_TRUE(Covers(*provided, {{k * 16, 18}}, {226}, &analyzer_, &reason)) << reason;
  EXPECT_FALSE(Covers(*provided, {{k * 16, 19}}, {226}, &analyzer_, &reason));
  // The same with a border of one row at the start.
  Expr inside = And(Expr(1) <= row, row < Expr(225));
  provided = MustCover({{row, 1}}, rows, inside, &analyzer_);
  ASSERT_TRUE(provided);
  EXPECT_TRUE(Covers(*provided, {{Max(k * 16, 1), 1}}, {}, &analyzer_, &reason)) << reason;
  EXPECT_FALSE(Covers(*provided, {{k * 16, 1}}, {}, &analyzer_, &reason));
}

// k * 2 + i < 4 is k < 2 whatever i is: where k is 2 or 3 nothing is touched.
TEST_F(IntSetTest, CoversNothingWhereTheConditionFails) {
  Domain loop = {{i, {0, 2}}};
  const auto text = [&](const Expr& index, const Expr& condition) {
    return Text(MustCover({{index, 1}}, loop, condition, &analyzer_));
  };
  {
    Analyzer::Scope scope(&analyzer_);
    analyzer_.Bind(k, Range{0, 2});
    EXPECT_EQ(text(k * 2 + i, k * 2 + i < Expr(4)), "[k * 2; 2]");
  }
  analyzer_.Bind(k, Range{0, 4});
  analyzer_.Bind(j, Range{0, 2});
  EXPECT_EQ(text(k * 2 + i, k * 2 + i < Expr(4)), "none");
  EXPECT_EQ(text(j * 4 + k * 2 + i, And(j * 4 + (k * 2 + i) < Expr(6), k * 2 + i < Expr(4))), "none");
  EXPECT_EQ(text(k * 2 + i, And(i < Expr(1), k * 2 + i < Expr(5))), "none");
}

TEST_F(IntSetTest, DecidesCover) {
  std::string reason;
  EXPECT_TRUE(Covers({{k * 16, 18}}, {{k * 16, 18}}, {}, &analyzer_, &reason));
  EXPECT_FALSE(Covers({{k * 16, 16}}, {{k * 16, 18}}, {}, &analyzer_, &reason));
  EXPECT_EQ(reason, "dimension 0: to k * 16 + 16 is provided, k * 16 + 18 is needed");
  EXPECT_TRUE(Covers({{0, n}}, {{k, n + 8}}, {n}, &analyzer_, &reason));
}

}  // namespace
}  // namespace tilewright::arith
