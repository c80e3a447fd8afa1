#include "graph/sizes/size_evaluator.h"

#include <cstdint>

#include "graph/ir/type.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

TEST(SizeEvaluator, ComputesInOrder) {
  const Symbol n("n", DataType::Int(64)), m("m", DataType::Int(64)), half("half", DataType::Int(64));
  auto evaluator = SizeEvaluator::Make({n, m}, {{half, FloorDiv(n, Extent(2))}});
  ASSERT_TRUE(evaluator.ok()) << evaluator.status();
  const Expr sum = Expr(half) * Extent(3) + m;
  const int slot = evaluator->Add(sum).value();
  EXPECT_EQ(evaluator->Add(sum).value(), slot);
  const int constant = evaluator->Add(Extent(7)).value();
  const int choice = evaluator->Add(Select(n == m, Extent(1), FloorMod(m, n))).value();
  const int negated = evaluator->Add(Not(n < m)).value();
  SizeEvaluator::Values values = evaluator->MakeValues();
  for (const int64_t first : {5, 9, 0}) {
    evaluator->Evaluate({first, 5}, &values);
    const auto at = [&](int i) { return values.numbers[static_cast<size_t>(i)]; };
    EXPECT_EQ(at(slot), first / 2 * 3 + 5);
    EXPECT_EQ(at(constant), 7);
    EXPECT_EQ(at(negated), first >= 5);
    // What is not chosen may divide by zero; what is chosen may not.
    EXPECT_EQ(values.known[static_cast<size_t>(choice)], first != 0);
    if (first != 0) EXPECT_EQ(at(choice), first == 5 ? 1 : 5 % first);
  }
}

TEST(SizeEvaluator, KnowsOverflows) {
  const Symbol n("n", DataType::Int(64));
  auto evaluator = SizeEvaluator::Make({n}, {});
  ASSERT_TRUE(evaluator.ok());
  const int slot = evaluator->Add(Min(Expr(n) * Extent(4), Extent(9))).value();
  SizeEvaluator::Values values = evaluator->MakeValues();
  evaluator->Evaluate({INT64_MAX / 2}, &values);
  EXPECT_FALSE(values.known[static_cast<size_t>(slot)]);
  evaluator->Evaluate({2}, &values);
  EXPECT_TRUE(values.known[static_cast<size_t>(slot)]);
  EXPECT_EQ(values.numbers[static_cast<size_t>(slot)], 8);
}

TEST(SizeEvaluator, RefusesWhatIsNoArithmeticOfExtents) {
  const Symbol n("n", DataType::Int(64)), other("other", DataType::Int(64));
  auto evaluator = SizeEvaluator::Make({n}, {});
  ASSERT_TRUE(evaluator.ok());
  EXPECT_EQ(evaluator->Add(Expr(n) + other).status().message(), "other is not arithmetic of extents");
}

}  // namespace
}  // namespace tilewright::graph
