#include "schedule/algebra/conditional_factor.h"

#include <gtest/gtest.h>

#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

const Var a("a", DataType::Bool()), b("b", DataType::Bool()), c("c", DataType::Bool());
const Var x("x", DataType::Float(16));

TEST(ConditionalFactor, FindsConditionsInsideOfCasts) {
  const DataType wide = DataType::Float(32);
  const Expr inner = IfThenElse(c, x, Const(x.dtype(), 0));
  const Expr factor = IfThenElse(And(a, b), CastTo(wide, inner), Const(wide, 0));
  std::vector<Expr> conditions;
  EXPECT_TRUE(StructuralEqual(WithoutConditions(factor, &conditions), CastTo(wide, x)));
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_TRUE(StructuralEqual(AllOf(conditions), And(And(a, b), c)));
}

// A choice of other values than zero stays.
TEST(ConditionalFactor, KeepsOtherChoices) {
  const Expr factor = IfThenElse(c, x, Const(x.dtype(), 1));
  std::vector<Expr> conditions;
  EXPECT_TRUE(WithoutConditions(factor, &conditions).same_as(factor));
  EXPECT_FALSE(AllOf(conditions));
}

}  // namespace
}  // namespace tilewright
