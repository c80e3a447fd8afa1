#include "autoschedule/cost/operations.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace tilewright {
namespace {

const DataType kI8 = DataType::Int(8), kI32 = DataType::Int(32), kF32 = DataType::Float(32);

TEST(Operations, KindsOfCalls) {
  EXPECT_EQ(KindOfCall("exp"), OperationKind::kTranscendental);
  EXPECT_EQ(KindOfCall("sqrt"), OperationKind::kDivide);
  EXPECT_EQ(KindOfCall("floor"), OperationKind::kArithmetic);
  EXPECT_EQ(KindOfCall("fma"), OperationKind::kMultiplyAdd);
  EXPECT_EQ(KindOfCall("call_extern"), OperationKind::kCall);
}

TEST(Operations, FactorsAreOfTheTypeBelowConversionsAndZeroPoints) {
  const Buffer a("A", {8}, kI8), b("B", {8}, DataType::Int(16));
  const Expr x = CastTo(kI32, a(0)), y = CastTo(kI32, b(0));
  EXPECT_EQ(MultipliedType(x, x), kI8);
  EXPECT_EQ(MultipliedType(x, y), DataType::Int(16));
  EXPECT_EQ(MultipliedType(x - CastTo(kI32, a(1)), x), kI8);
}

TEST(Operations, StoresThatReadWhatTheyWrite) {
  const Buffer a("A", {8}, kF32), c("C", {8}, kF32);
  const auto reads_itself = [&](Expr value) {
    const Stmt store = Store(c, std::move(value), {Expr(3)});
    return ReadsItself(cast<StoreNode>(store));
  };
  EXPECT_TRUE(reads_itself(c(3) + a(3)));
  EXPECT_TRUE(reads_itself(Max(a(3), c(3))));
  EXPECT_FALSE(reads_itself(c(2) + a(3)));
  EXPECT_FALSE(reads_itself(a(3)));
}

TEST(Operations, SharesOfConditionsOnIndicesAreKnown) {
  const Var i("i", DataType::Int(32));
  const Buffer a("A", {8}, kF32), chosen("P", {8}, DataType::Int(32));
  EXPECT_TRUE(ShareIsKnown(And(i < Expr(4), Expr(1) <= i)));
  EXPECT_FALSE(ShareIsKnown(a(i) < ConstFloat(kF32, 4)));
  EXPECT_FALSE(ShareIsKnown(And(i < Expr(4), chosen(i) < Expr(4))));
}

}  // namespace
}  // namespace tilewright
