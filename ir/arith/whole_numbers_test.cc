#include "ir/arith/whole_numbers.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const DataType kHalf = DataType::Float(16), kBFloat = DataType::BFloat16();

Expr Bits(DataType type, int64_t mask) { return Call(type, "bitwise_and", {Var("w", type), Const(type, mask)}); }

TEST(WholeNumbers, AreIntegersThatTheTypeHolds) {
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, Var("w", DataType::Int(8)))), 128);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, Var("w", DataType::UInt(8)))), 255);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, Var("w", DataType::Int(16)))), std::nullopt);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, Bits(DataType::UInt(32), 511))), std::nullopt);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, Bits(DataType::UInt(32), 511))), 511);
}

TEST(WholeNumbers, WrapWhereANegativeOneBecomesUnsigned) {
  const DataType kU16 = DataType::UInt(16);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, CastTo(kU16, Var("z", DataType::Int(8))))), std::nullopt);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, CastTo(kU16, Const(DataType::Int(32), -3)))), std::nullopt);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, CastTo(kU16, Var("w", DataType::UInt(8))))), 255);
  EXPECT_EQ(WholeMagnitude(CastTo(kBFloat, CastTo(kU16, Bits(DataType::Int(32), 15)))), 15);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, CastTo(DataType::Int(16), Var("z", DataType::Int(8))))), 128);
}

TEST(WholeNumbers, AreSumsAndProductsOfSuch) {
  const Expr w = CastTo(kHalf, Bits(DataType::UInt(32), 15));
  EXPECT_EQ(WholeMagnitude(w - ConstFloat(kHalf, 7)), 22);
  EXPECT_EQ(WholeMagnitude(w * w), 225);
  EXPECT_EQ(WholeMagnitude(w * w * w), std::nullopt);  // 3375 is beyond 2048
  EXPECT_EQ(WholeMagnitude(w - ConstFloat(kHalf, 7.5)), std::nullopt);
  EXPECT_EQ(WholeMagnitude(Max(w, ConstFloat(kHalf, 20))), 20);
}

TEST(WholeNumbers, OfIntegerSums) {
  const Expr a = Bits(DataType::Int(32), 15), b = CastTo(DataType::Int(32), Var("z", DataType::Int(8)));
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, a - b)), 143);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, a + a)), 30);
  // A difference of unsigned numbers may wrap; a number of 32 bits has no bound.
  const Expr u = Bits(DataType::UInt(32), 15);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, u - u)), std::nullopt);
  EXPECT_EQ(WholeMagnitude(CastTo(kHalf, a - Var("z", DataType::Int(32)))), std::nullopt);
}

}  // namespace
}  // namespace tilewright
