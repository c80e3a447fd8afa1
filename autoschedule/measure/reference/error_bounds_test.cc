#include "autoschedule/measure/reference/error_bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

constexpr DataType kFloat = DataType::Float(32);

// Bounds of expressions in variables that are off by `error`, where they are 3 and 5.
class ErrorBoundsTest : public ::testing::Test {
 protected:
  ErrorBoundsTest() {
    bounds_.BindVar(x_, {Double(3), Double(0.25)});
    bounds_.BindVar(y_, {Double(5), Double(0.5)});
  }
  // The variables that BindVar made are named in what Visit returns.
  double Of(const Expr& e) {
    const Bounded x = bounds_.Visit(x_), y = bounds_.Visit(y_);
    const VarMap values = {{Var(cast<VarNode>(x.value)), Double(3)},
                           {Var(cast<VarNode>(x.error)), Double(0.25)},
                           {Var(cast<VarNode>(y.value)), Double(5)},
                           {Var(cast<VarNode>(y.error)), Double(0.5)}};
    const Buffer out("out", {Expr(1)}, kDouble);
    const Function function(FunctionNode::Fields{.name = "main",
                                                 .params = {{Var("out", DataType::Handle()), out}},
                                                 .body = Store(out, Substitute(e, values), {Expr(0)})});
    NDArray result(kDouble, {1});
    const auto program = interp::Compile(function);
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return std::nan("");
    std::vector<interp::Argument> arguments = {result};
    EXPECT_TRUE(program->Run(arguments).ok());
    return result.Get(0);
  }

  const Var x_{"x", kFloat}, y_{"y", kFloat};
  ErrorBounds bounds_{[](const Buffer& buffer) { return BoundedBuffer{buffer, {}}; }};
};

TEST_F(ErrorBoundsTest, ConstantsAndIntegersAreExact) {
  EXPECT_FALSE(bounds_.Visit(ConstFloat(kFloat, 1.5)).error);
  const Var i("i", DataType::Int(32));
  EXPECT_FALSE(bounds_.Visit(i * Expr(3) + Expr(1)).error);
}

TEST_F(ErrorBoundsTest, SumsAddErrorsAndRound) {
  const Bounded sum = bounds_.VisitApart(x_ + y_);
  ASSERT_TRUE(sum.error);
  EXPECT_NEAR(Of(sum.value), 8, 1e-12);
  EXPECT_NEAR(Of(sum.error), 0.75 + 8.75 * UnitRoundoff(kFloat), 1e-6);
}

TEST_F(ErrorBoundsTest, ProductsScaleErrors) {
  const Bounded product = bounds_.VisitApart(x_ * y_);
  ASSERT_TRUE(product.error);
  EXPECT_NEAR(Of(product.error), 3 * 0.5 + 5 * 0.25 + 0.25 * 0.5, 1e-5);
}

TEST_F(ErrorBoundsTest, WhatHasNoBoundIsRefusedByName) {
  bounds_.Visit(Call(kFloat, "atan2", {x_, y_}));
  EXPECT_EQ(bounds_.refusal(), "a call of atan2 with rounded values");
}

TEST(UnitRoundoffTest, IsHalfAUnit) {
  EXPECT_EQ(UnitRoundoff(DataType::Float(16)), 0x1p-11);
  EXPECT_EQ(UnitRoundoff(DataType::BFloat16()), 0x1p-8);
}

}  // namespace
}  // namespace tilewright
