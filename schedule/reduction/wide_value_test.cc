#include "schedule/reduction/wide_value.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/printer.h"

namespace tilewright {
namespace {

const DataType kHalf = DataType::Float(16), kFloat = DataType::Float(32);

std::string Widened(const Expr& e) { return Print(WideValue(e, kFloat)); }

TEST(WideValue, ComputesWhatIsNotRoundedOnPurpose) {
  const Var a("a", kHalf), b("b", kHalf);
  EXPECT_EQ(Widened(a), "T.Cast(\"float32\", a)");
  EXPECT_EQ(Widened(a * b + ConstFloat(kHalf, 0.5)),
            "T.Cast(\"float32\", a) * T.Cast(\"float32\", b) + T.float32(0.5)");
  EXPECT_EQ(Widened(Max(a - b, a)), "T.max(T.Cast(\"float32\", a) - T.Cast(\"float32\", b), T.Cast(\"float32\", a))");
  EXPECT_EQ(Widened(Div(a, b)), "T.Cast(\"float32\", a) / T.Cast(\"float32\", b)");
}

TEST(WideValue, WidensWhatIsChosenAndNotTheCondition) {
  const Var a("a", kHalf), b("b", kHalf);
  const Expr condition = a * b < a;
  EXPECT_EQ(Widened(Select(condition, a * b, b)),
            "T.Select(a * b < a, T.Cast(\"float32\", a) * T.Cast(\"float32\", b), T.Cast(\"float32\", b))");
  EXPECT_EQ(Widened(IfThenElse(condition, a, b)),
            "T.if_then_else(a * b < a, T.Cast(\"float32\", a), T.Cast(\"float32\", b))");
}

TEST(WideValue, LeavesOutConversionsThatRoundNothing) {
  const Var byte("w", DataType::Int(8)), fp8("s", DataType(TypeCode::kE4M3, 8));
  EXPECT_EQ(Widened(CastTo(kHalf, byte)), "T.Cast(\"float32\", w)");
  EXPECT_EQ(Widened(CastTo(kHalf, fp8)), "T.Cast(\"float32\", s)");
}

// What the program rounds to the narrow type stays rounded, and so does the argument of a function.
TEST(WideValue, KeepsRoundingsOfTheProgram) {
  const Var x("x", kFloat), n("n", DataType::Int(32)), a("a", kHalf), other("o", DataType::BFloat16());
  EXPECT_EQ(Widened(CastTo(kHalf, x) * a), "T.Cast(\"float32\", T.Cast(\"float16\", x)) * T.Cast(\"float32\", a)");
  EXPECT_EQ(Widened(CastTo(kHalf, n)), "T.Cast(\"float32\", T.Cast(\"float16\", n))");
  EXPECT_EQ(Widened(CastTo(kHalf, other)), "T.Cast(\"float32\", T.Cast(\"float16\", o))");
  EXPECT_EQ(Widened(CastTo(kHalf, CastTo(kFloat, a * a))),
            "T.Cast(\"float32\", T.Cast(\"float16\", T.Cast(\"float32\", a * a)))");
  EXPECT_EQ(Widened(Call(kHalf, "exp", {a * a})), "T.Cast(\"float32\", T.exp(a * a))");
}

}  // namespace
}  // namespace tilewright
