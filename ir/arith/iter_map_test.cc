#include "ir/arith/iter_map.h"

#include <gtest/gtest.h>

#include "ir/arith/expr_text.h"

namespace tilewright::arith {
namespace {

using Code = IterMapError::Code;

class IterMapTest : public testing::Test {
 protected:
  void Detects(const std::vector<Expr>& indices, const Domain& domain, IterMapLevel level, const Expr& predicate = {}) {
    IterMapError error;
    EXPECT_TRUE(DetectIterMap(indices, domain, predicate, level, &analyzer_, &error))
        << ToText(indices[0]) << ": " << error.Reason() << " " << ToText(error.expr);
  }
  void Refuses(const std::vector<Expr>& indices, const Domain& domain, IterMapLevel level, Code code, size_t index,
               const Expr& predicate = {}) {
    IterMapError error;
    EXPECT_FALSE(DetectIterMap(indices, domain, predicate, level, &analyzer_, &error)) << ToText(indices[0]);
    EXPECT_EQ(error.code, code) << error.Reason();
    EXPECT_EQ(error.index, index);
  }
  static IndexMap Map(std::vector<Var> inputs, std::vector<Expr> outputs) { return IndexMap(inputs, outputs); }
  Var i{"i"}, j{"j"}, k{"k"}, n{"n"}, m{"m"};
  Domain ij = {{i, {0, 8}}, {j, {0, 16}}};
  Analyzer analyzer_;
};

TEST_F(IterMapTest, AcceptsSplitsAndFusions) {
  Expr f = i * 16 + j;
  Detects({i, j}, ij, IterMapLevel::kBijective);
  Detects({f}, ij, IterMapLevel::kBijective);
  Detects({FloorDiv(f, 4), FloorMod(f, 4)}, ij, IterMapLevel::kBijective);
  Detects({FloorMod(j, 4), i * 4 + FloorDiv(j, 4)}, ij, IterMapLevel::kBijective);
  Detects({i}, ij, IterMapLevel::kSurjective);
  Detects({FloorDiv(j, 3)}, ij, IterMapLevel::kSurjective);
  Domain odd = {{i, {0, 8}}, {j, {0, 12}}};
  Detects({FloorDiv(i * 12 + j, 32), FloorMod(i * 12 + j, 32)}, odd, IterMapLevel::kBijective);
}

// A loop that was fused from several and split again: simplified parts of it are sums of their own.
TEST_F(IterMapTest, AcceptsPartsOfASplitFusion) {
  const Domain domain = {{i, {0, 60}}, {j, {0, 4}}};
  const Expr f = i * 4 + j;
  Detects({FloorDiv(f, 60), FloorDiv(FloorMod(f, 60), 10), FloorMod(f, 10)}, domain, IterMapLevel::kBijective);
  Detects({FloorDiv(i, 15), FloorDiv(FloorMod(i, 15) * 4 + j, 10), FloorMod(f, 10)}, domain, IterMapLevel::kBijective);
  Refuses({FloorDiv(i, 15), FloorDiv(FloorMod(i, 15) * 4 + j, 10), FloorMod(f, 20)}, domain, IterMapLevel::kSurjective,
          Code::kNotIndependent, 1);
}

TEST_F(IterMapTest, AcceptsSymbolicExtents) {
  Domain symbolic = {{i, {0, n}}, {j, {0, m}}};
  Expr f = i * m + j;
  Detects({f}, symbolic, IterMapLevel::kBijective);
  Detects({FloorDiv(f, m), FloorMod(f, m)}, symbolic, IterMapLevel::kBijective);
  Detects({FloorDiv(k, m), FloorMod(k, m)}, {{k, {0, n * m}}}, IterMapLevel::kBijective);
  Detects({FloorDiv(k, 16), FloorMod(k, 16)}, {{k, {0, n * 16}}}, IterMapLevel::kBijective);
  Refuses({FloorDiv(k, 16), FloorMod(k, 16)}, {{k, {0, n}}}, IterMapLevel::kSurjective, Code::kNotSurjective, 0);
}

// Extents of padded rows and columns: their product is a sum after simplification.
TEST_F(IterMapTest, AcceptsExtentsThatAreSums) {
  analyzer_.Assume(n >= 0);
  analyzer_.Assume(m >= 0);
  const Expr rows = n + 3, columns = m + 2;
  const Domain fused = {{k, {0, i * rows * columns * 8}}};
  const auto digits = [&](const Expr& width) {
    return std::vector<Expr>{FloorDiv(k, rows * columns * 8), FloorDiv(FloorMod(k, rows * columns * 8), rows * columns),
                             FloorDiv(FloorMod(k, rows * columns), width), FloorMod(k, width)};
  };
  Detects(digits(columns), fused, IterMapLevel::kBijective);
  Refuses(digits(columns - 1), fused, IterMapLevel::kBijective, Code::kNotIndependent, 3);
}

TEST_F(IterMapTest, RefusesWithAReason) {
  Refuses({i, i}, ij, IterMapLevel::kSurjective, Code::kNotIndependent, 1);
  Refuses({i * 16 + j, j}, ij, IterMapLevel::kSurjective, Code::kNotIndependent, 1);
  Refuses({i + j}, ij, IterMapLevel::kSurjective, Code::kNotContiguous, 0);
  Refuses({i * 20 + j}, ij, IterMapLevel::kSurjective, Code::kNotContiguous, 0);
  Refuses({j, i * i}, ij, IterMapLevel::kSurjective, Code::kNotAffine, 1);
  Refuses({FloorDiv(j, 3), FloorMod(j, 3)}, ij, IterMapLevel::kSurjective, Code::kNotSurjective, 0);
  Refuses({i}, ij, IterMapLevel::kBijective, Code::kNotBijective, 0);
  Refuses({i, j}, ij, IterMapLevel::kSurjective, Code::kPredicate, 0, i < j);
}

TEST_F(IterMapTest, PredicatesBoundFusedIterators) {
  Domain domain = {{i, {0, 86}}, {j, {0, 12}}};
  Expr f = i * 12 + j, predicate = f < Expr(1024);
  Detects({f}, domain, IterMapLevel::kBijective, predicate);
  Detects({FloorDiv(f, 32), FloorMod(f, 32)}, domain, IterMapLevel::kBijective, predicate);
  Refuses({i, j}, domain, IterMapLevel::kSurjective, Code::kNotSurjective, 0, predicate);
  auto simplified = IterMapSimplify({FloorDiv(f, 4)}, domain, predicate, &analyzer_);
  EXPECT_EQ(ToText(simplified[0]), "(i * 12 + j) // 4");
  EXPECT_EQ(ToText(IterMapSimplify({i}, domain, predicate, &analyzer_)[0]), "i");
  // A loop that does not start at 0: its remainder is not the loop itself.
  EXPECT_EQ(ToText(IterMapSimplify({FloorMod(FloorMod(j, 3), 2)}, {{j, {2, 3}}}, i < Expr(4), &analyzer_)[0]),
            "j % 3 % 2");
  // Conditions on the parts of a loop that was fused from two tile loops.
  Domain fused = {{i, {0, 66}}, {j, {0, 6}}, {k, {0, 64}}};
  Expr row = FloorMod(i, 22) * 6 + j, column = FloorDiv(i, 22) * 64 + k;
  Detects({row, column}, fused, IterMapLevel::kBijective, And(row < Expr(127), column < Expr(131)));
  Domain symbolic = {{i, {0, FloorDiv(n + 15, 16)}}, {j, {0, 16}}};
  Detects({i * 16 + j}, symbolic, IterMapLevel::kBijective, i * 16 + j < n);
  // The same split twice, with a symbolic number of tiles in the middle.
  const Expr tiles = FloorDiv(n + 5, 6), place = (i * tiles + j) * 3 + k;
  const Domain twice = {{i, {0, 2}}, {j, {0, tiles}}, {k, {0, 3}}};
  Detects({i * tiles * 3 + j * 3 + k}, twice, IterMapLevel::kBijective, place < n);
  Refuses({i * tiles * 3 + j * 3 + k, j}, twice, IterMapLevel::kSurjective, Code::kNotIndependent, 1, place < n);
  Refuses({i * tiles * 3 + j * 2 + k}, twice, IterMapLevel::kSurjective, Code::kNotContiguous, 0, place < n);
}

TEST_F(IterMapTest, DividesBindingsByInnerLoops) {
  Var io("io"), jo("jo"), ii("ii"), ji("ji");
  Domain domain = {{io, {0, 8}}, {jo, {0, 4}}, {ii, {0, 16}}, {ji, {0, 16}}};
  auto division = SubspaceDivide({io * 16 + ii, jo * 16 + ji}, domain, 2, {}, &analyzer_);
  ASSERT_TRUE(division);
  EXPECT_EQ(ToText(division->indices[0].outer), "io");
  EXPECT_EQ(ToText(division->indices[0].inner), "ii");
  EXPECT_EQ(ToText(division->indices[0].inner_extent), "16");
  EXPECT_EQ(ToText(division->indices[1].outer_extent), "4");
  IterMapError error;
  EXPECT_FALSE(SubspaceDivide({ii * 8 + io}, {{io, {0, 8}}, {ii, {0, 16}}}, 1, {}, &analyzer_, &error));
  EXPECT_EQ(error.code, Code::kNotContiguous);
  EXPECT_FALSE(
      SubspaceDivide({io * 16 + ii}, {{io, {0, 8}}, {ii, {0, 16}}}, 1, io * 16 + ii < Expr(100), &analyzer_, &error));
  EXPECT_EQ(error.code, Code::kPredicate);
}

TEST_F(IterMapTest, InvertsIndexMaps) {
  auto text = [](const std::vector<Expr>& exprs) {
    std::string result;
    for (const Expr& e : exprs) result += (result.empty() ? "" : ", ") + ToText(e);
    return result;
  };
  auto inverse = InverseIndexMap(Map({i, j}, {FloorDiv(i, 4), FloorDiv(j, 8), FloorMod(i, 4), FloorMod(j, 8)}),
                                 {16, 16}, &analyzer_);
  ASSERT_TRUE(inverse);
  EXPECT_EQ(text((*inverse)->outputs), "i0 * 4 + i2, i1 * 8 + i3");
  inverse = InverseIndexMap(Map({i, j}, {i * 16 + j}), {n, 16}, &analyzer_);
  ASSERT_TRUE(inverse);
  EXPECT_EQ(text((*inverse)->outputs), "i0 // 16, i0 % 16");
  EXPECT_FALSE(InverseIndexMap(Map({i}, {FloorDiv(i, 4), FloorMod(i, 4)}), {14}, &analyzer_));
  auto padded = PaddedInverseIndexMap(Map({i}, {FloorDiv(i, 4), FloorMod(i, 4)}), {14}, &analyzer_);
  ASSERT_TRUE(padded);
  EXPECT_EQ(text(padded->inverse->outputs), "i0 * 4 + i1");
  EXPECT_EQ(text(padded->shape), "4, 4");
  EXPECT_EQ(ToText(padded->padding), "14 <= i0 * 4 + i1");
  auto left = PaddedInverseIndexMap(Map({i}, {FloorDiv(i + 3, 4), FloorMod(i + 3, 4)}), {14}, &analyzer_);
  ASSERT_TRUE(left);
  EXPECT_EQ(text(left->inverse->outputs), "i0 * 4 + i1 - 3");
  EXPECT_EQ(text(left->shape), "5, 4");
  EXPECT_EQ(ToText(left->padding), "i0 * 4 + i1 < 3 or 17 <= i0 * 4 + i1");
}

}  // namespace
}  // namespace tilewright::arith
