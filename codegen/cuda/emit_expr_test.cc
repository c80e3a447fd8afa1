// emit_expr.cc: scalar expressions in C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/cuda/testing/emitted_lines.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TextOf;

TEST(EmitExpr, ParenthesesStandWhereOperatorsBindLess) {
  const std::string text = TextOf("C[i] = (A[i] + B[i]) * A[i] - B[i]");
  EXPECT_THAT(text, HasSubstr("C[i] = (A[i] + B[i]) * A[i] - B[i];"));
  EXPECT_THAT(TextOf("C[i] = A[i] - (B[i] - A[i])"), HasSubstr("C[i] = A[i] - (B[i] - A[i]);"));
}

TEST(EmitExpr, NarrowTypesAreComputedAsFloats) {
  EXPECT_THAT(TextOf("C[i] = A[i] * B[i]", "float16"),
              HasSubstr("C[i] = tw::narrow<tw::f16>(tw::widen(A[i]) * tw::widen(B[i]));"));
  EXPECT_THAT(TextOf("C[i] = A[i] + B[i]", "int8"), HasSubstr("C[i] = int8_t(A[i] + B[i]);"));
  EXPECT_THAT(TextOf("C[i] = T.float16(0)", "float16"), HasSubstr("C[i] = tw::f16{};"));
}

// What is moved is not computed with: no conversion.
TEST(EmitExpr, CopiesOfNarrowTypesConvertNothing) {
  EXPECT_THAT(TextOf("C[i] = A[i]", "float16"), HasSubstr("C[i] = A[i];"));
  EXPECT_THAT(TextOf("C[i] = T.if_then_else(i < n, A[i], B[i])", "bfloat16"),
              HasSubstr("C[i] = i < n ? tw::bf16(A[i]) : tw::bf16(B[i]);"));
}

// C++ rounds quotients towards zero.
TEST(EmitExpr, QuotientsRoundDownWhereOperandsMayBeNegative) {
  EXPECT_THAT(TextOf("I[i] = (i + 4) // 3"), HasSubstr("I[i] = (i + 4) / 3;"));
  EXPECT_THAT(TextOf("I[i] = i % 3"), HasSubstr("I[i] = i % 3;"));
  EXPECT_THAT(TextOf("I[i] = i // n"), HasSubstr("I[i] = tw::floor_div<int32_t>(i, n);"));
  EXPECT_THAT(TextOf("I[i] = I[i] // 3"), HasSubstr("tw::floor_div<int32_t>(I[i], 3)"));
  EXPECT_THAT(TextOf("I[i] = I[i] % 4"), HasSubstr("tw::floor_mod<int32_t>(I[i], 4)"));
  // What a branch has found out counts.
  EXPECT_THAT(TextOf("if n > 0:\n            I[i] = i // n"), HasSubstr("I[i] = i / n;"));
}

TEST(EmitExpr, MinimaOfChoicesAndNumbers) {
  EXPECT_THAT(TextOf("C[i] = T.min(A[i], B[i])"), HasSubstr("tw::min_of<float>(A[i], B[i])"));
  EXPECT_THAT(TextOf("C[i] = T.max(T.max(A[i], B[i]), T.float32(1))"),
              HasSubstr("tw::max_of_choice(float(tw::max_of<float>(A[i], B[i])), 1.0f)"));
}

TEST(EmitExpr, WideNumbersAreRoundedOnce) {
  EXPECT_THAT(TextOf("C[i] = T.Cast(\"float16\", T.Cast(\"float64\", A[i]))", "float16"),
              HasSubstr("tw::narrow<tw::f16>(tw::odd_float(double(tw::widen(A[i]))))"));
  EXPECT_THAT(TextOf("C[i] = T.Cast(\"float16\", I[i])", "float16"), HasSubstr("tw::odd_float(double(I[i]))"));
  EXPECT_THAT(TextOf("C[i] = T.Cast(\"bool\", I[i])", "bool"), HasSubstr("C[i] = I[i] != 0;"));
}

// An operand that needs statements is evaluated only where the first one does not decide.
TEST(EmitExpr, BranchesHoldTheStatementsOfTheirValues) {
  const std::string both = TextOf("if i < n and T.Let(m * m, where={m: I[i]}) > 3:\n            C[i] = A[i]");
  EXPECT_THAT(both, HasSubstr("bool holds = i < n;\n  if (holds) {\n    const int32_t m = I[i];\n"
                              "    holds = m * m > 3;\n  }\n  if (holds) {"));
  const std::string chosen = TextOf("I[i] = T.if_then_else(i < n, T.Let(m * m, where={m: I[i]}), 7)");
  EXPECT_THAT(chosen, HasSubstr("int32_t chosen;\n  if (i < n) {\n    const int32_t m = I[i];\n    chosen = m * m;\n"
                                "  } else {\n    chosen = 7;\n  }\n  I[i] = chosen;"));
  EXPECT_THAT(TextOf("I[i] = T.if_then_else(i < n, I[i], 7)"), Not(HasSubstr("chosen")));
}

}  // namespace
}  // namespace tilewright::cuda
