#include "ir/arith/linear.h"

#include <gtest/gtest.h>

#include "ir/arith/expr_text.h"

namespace tilewright::arith {
namespace {

TEST(LinearTest, FindsConstantAndSymbolicCoefficients) {
  Var i("i"), j("j"), n("n");
  Analyzer analyzer;
  auto form = DetectLinear((i * 4 + j) * 4 + j * n + n + 3, {i, j}, &analyzer);
  ASSERT_TRUE(form);
  EXPECT_EQ(ToText(form->coefficients[0]), "16");
  EXPECT_EQ(ToText(form->coefficients[1]), "n + 4");
  EXPECT_EQ(ToText(form->base), "n + 3");
}

TEST(LinearTest, RefusesWhatIsNotLinear) {
  Var i("i"), j("j");
  Analyzer analyzer;
  EXPECT_FALSE(DetectLinear(i * j, {i, j}, &analyzer));
  EXPECT_FALSE(DetectLinear(FloorDiv(i, 4), {i}, &analyzer));
  EXPECT_FALSE(DetectLinear(Min(i, j), {i}, &analyzer));
  EXPECT_TRUE(DetectLinear(i * j, {i}, &analyzer));
}

TEST(LinearTest, KnowsConstantDivisors) {
  Var i("i"), j("j");
  Analyzer analyzer;
  EXPECT_EQ(KnownDivisor(i * 24 + j * 16 + 8, &analyzer), 8);
  EXPECT_EQ(KnownDivisor(Expr(i), &analyzer), 1);
}

TEST(LinearTest, KnowsDivisorsOfWhatIsWritten) {
  Var i("i"), j("j");
  EXPECT_EQ(WrittenDivisor(FloorDiv(i * 3 + 1, 8) * 16 + j * 128 + 528), 16);
  EXPECT_EQ(WrittenDivisor(FloorMod(i * 12, 8) - 6), 2);
  EXPECT_EQ(WrittenDivisor(FloorDiv(i * 16, 8)), 1);
  EXPECT_EQ(WrittenDivisor(Const(DataType::Int(64), -6)), 6);
  EXPECT_EQ(WrittenDivisor(Const(DataType::Int(64), INT64_MIN)), 1);  // its size is not a number of the type
  EXPECT_EQ(WrittenDivisor(Expr(0)), 0);
}

}  // namespace
}  // namespace tilewright::arith
