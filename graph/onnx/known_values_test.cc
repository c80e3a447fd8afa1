#include "graph/onnx/known_values.h"

#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/indexing.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kInt64 = DataType::Int(64);

Expr Number(int64_t value) { return Const(kInt64, value); }

TEST(KnownValues, ArithmeticOnSymbols) {
  FunctionBuilder f("f");
  Buffer a = f.Input("a", {2}, kInt64), b = f.Input("b", {1}, kInt64);
  Buffer y = ops::Map(f, "y", {a, b}, [](const std::vector<Expr>& e) { return e[0] * e[1] + Number(1); });
  const Function program = f.Build({y});
  const Var n("n", kInt64);
  const auto results = RunOnExpressions(program, {{n, Number(3)}, {Number(2)}}, {});
  ASSERT_TRUE(results.has_value());
  EXPECT_TRUE(StructuralEqual((*results)[0][0], n * Number(2) + Number(1)));
  EXPECT_EQ(AsInt((*results)[0][1]), 7);
}

TEST(KnownValues, ReductionsAndIndices) {
  FunctionBuilder f("f");
  Buffer a = f.Input("a", {3}, kInt64), i = f.Input("i", {1}, DataType::Int(32));
  Buffer product = ops::Reduce(f, "product", ops::Reduction::kProduct, a, {0}, true);
  Buffer element = ops::Gather(f, a, i, 0);
  const Function program = f.Build({product, element});
  const Var n("n", kInt64);
  const auto results = RunOnExpressions(program, {{n, Number(4), Number(5)}, {Number(-3)}}, {});
  ASSERT_TRUE(results.has_value());
  EXPECT_TRUE(StructuralEqual((*results)[0][0], n * Number(20)));
  EXPECT_TRUE((*results)[1][0].same_as(n));
}

TEST(KnownValues, BooleansAndUnknownChoices) {
  FunctionBuilder f("f");
  Buffer a = f.Input("a", {2}, kInt64);
  Buffer y = ops::Map(f, "y", {a}, [](const std::vector<Expr>& e) { return e[0] == Number(4); });
  const Function program = f.Build({y});
  const Var n("n", kInt64);
  const auto known = RunOnExpressions(program, {{Number(4), Number(5)}}, {});
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(AsInt((*known)[0][0]), 1);
  EXPECT_EQ(AsInt((*known)[0][1]), 0);
  const auto unknown = RunOnExpressions(program, {{n, Number(5)}}, {});
  ASSERT_TRUE(unknown.has_value());
  EXPECT_FALSE(AsInt((*unknown)[0][0]).has_value());
}

TEST(KnownValues, NothingWhereAnIndexIsNotKnown) {
  FunctionBuilder f("f");
  Buffer a = f.Input("a", {3}, kInt64), i = f.Input("i", {1}, kInt64);
  const Function program = f.Build({ops::Gather(f, a, i, 0)});
  const Var n("n", kInt64);
  EXPECT_FALSE(RunOnExpressions(program, {{Number(1), Number(2), Number(3)}, {n}}, {}).has_value());
}

TEST(KnownValues, NarrowTypesOnlyAsNumbers) {
  FunctionBuilder f("f");
  Buffer a = f.Input("a", {1}, kInt64);
  Buffer y =
      ops::Map(f, "y", {a}, [](const std::vector<Expr>& e) { return CastTo(kInt64, CastTo(DataType::Int(8), e[0])); });
  const Function program = f.Build({y});
  const auto wrapped = RunOnExpressions(program, {{Number(300)}}, {});
  ASSERT_TRUE(wrapped.has_value());
  EXPECT_EQ(AsInt((*wrapped)[0][0]), 44);
  EXPECT_FALSE(RunOnExpressions(program, {{Var("n", kInt64)}}, {}).has_value());
}

}  // namespace
}  // namespace tilewright::graph
