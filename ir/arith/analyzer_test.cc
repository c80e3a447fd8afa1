#include "ir/arith/analyzer.h"

#include <gtest/gtest.h>

#include "ir/arith/expr_text.h"
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

TEST_F(AnalyzerTest, ComparesInOneForm) {
  Simplifies(i + 1 < Expr(30), Expr(i) < 29);
  Simplifies(Expr(i) >= 1, Expr(1) <= i);
  Simplifies(i * 16 < Expr(30), Expr(i) < 2);
  Simplifies(Not(Expr(i) < 30), Expr(30) <= i);
  Simplifies(i * 2 == Expr(3), False());
  Simplifies(FloorDiv(i, 4) < Expr(3), Expr(i) < 12);
  analyzer_.Bind(i, Range{0, 4});
  analyzer_.Bind(j, Range{0, 16});
  Simplifies(i * 16 + j < Expr(32), Expr(i) < 2);
  Simplifies(i * 16 + j < Expr(30), i * 16 + j < 30);
  Simplifies(i * 16 + j < Expr(64), True());
  Simplifies(And(Expr(i) < 3, Expr(i) < 2), Expr(i) < 2);
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

TEST_F(AnalyzerTest, HandlesMinMaxSelectAndCasts) {
  analyzer_.Bind(i, Range{0, 8});
  Simplifies(Min(i, 8), i);
  Simplifies(Max(i + n, n), i + n);
  Simplifies(Select(Expr(i) < 9, j, k), j);
  Var l("l", DataType::Int(64));
  DataType i64 = DataType::Int(64);
  Simplifies(CastTo(i64, i * 16 + j), CastTo(i64, i) * 16 + CastTo(i64, j));
  Simplifies(CastTo(DataType::Int(32), CastTo(i64, i)), i);
}

}  // namespace
}  // namespace tilewright::arith
