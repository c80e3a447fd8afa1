// emit_call.cc: builtins as functions of the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cuda/testing/emitted_lines.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using testing::TextOf;
using testing::WhyNot;

TEST(EmitCall, FunctionsTakeTheWidthOfTheirArguments) {
  EXPECT_THAT(TextOf("C[i] = T.sqrt(A[i])"), HasSubstr("C[i] = tw::sqrt(float(A[i]));"));
  EXPECT_THAT(TextOf("C[i] = T.sqrt(A[i])", "float64"), HasSubstr("C[i] = tw::sqrt(double(A[i]));"));
  EXPECT_THAT(TextOf("C[i] = T.pow(A[i], B[i])"), HasSubstr("tw::pow(float(A[i]), float(B[i]))"));
  EXPECT_THAT(TextOf("C[i] = T.round(A[i])"), HasSubstr("tw::round_even("));
  EXPECT_THAT(TextOf("C[i] = T.Cast(\"float32\", T.isnan(A[i]))"), HasSubstr("float(tw::is_nan<float>(A[i]))"));
}

// A narrow result is rounded once: where it is stored, or where another function takes it.
TEST(EmitCall, NarrowResultsAreRoundedOnce) {
  EXPECT_THAT(TextOf("C[i] = T.exp(A[i])", "float16"),
              HasSubstr("C[i] = tw::narrow<tw::f16>(tw::exp(tw::widen(A[i])));"));
  EXPECT_THAT(TextOf("C[i] = T.exp(T.exp(A[i]))", "float16"),
              HasSubstr("tw::narrow<tw::f16>(tw::exp(tw::round_to<tw::f16>(tw::exp(tw::widen(A[i])))))"));
  EXPECT_THAT(TextOf("C[i] = T.nextafter(A[i], B[i])", "float16"),
              HasSubstr("tw::next_narrow<tw::f16>(tw::widen(A[i]), tw::widen(B[i]))"));
  EXPECT_THAT(TextOf("C[i] = T.nextafter(A[i], B[i])"), HasSubstr("tw::next_after(A[i], B[i])"));
}

// C++ computes in int: results of narrow types wrap as the program's do, and bits above the type are not counted.
TEST(EmitCall, IntegersKeepTheirWidth) {
  EXPECT_THAT(TextOf("C[i] = T.shift_left(A[i], B[i])", "int16"), HasSubstr("int16_t(uint16_t(A[i]) << B[i])"));
  EXPECT_THAT(TextOf("C[i] = T.shift_right(A[i], B[i])", "int32"), HasSubstr("C[i] = A[i] >> B[i];"));
  EXPECT_THAT(TextOf("C[i] = T.bitwise_not(A[i])", "int8"), HasSubstr("int8_t(~A[i])"));
  EXPECT_THAT(TextOf("C[i] = T.bitwise_xor(A[i], B[i])", "uint8"), HasSubstr("uint8_t(A[i] ^ B[i])"));
  EXPECT_THAT(TextOf("C[i] = T.popcount(A[i])", "int32"), HasSubstr("tw::count_ones(uint32_t(A[i]))"));
  EXPECT_THAT(TextOf("C[i] = T.clz(A[i])", "int32"), HasSubstr("tw::leading_zeros(uint32_t(A[i]), 32)"));
  EXPECT_THAT(TextOf("C[i] = T.abs(A[i])", "int32"), HasSubstr("tw::absolute<int32_t>(A[i])"));
}

TEST(EmitCall, BitsOfOneTypeAreThoseOfAnother) {
  EXPECT_THAT(TextOf("I[i] = T.reinterpret(\"int32\", A[i])"), HasSubstr("tw::bit_cast<int32_t>(float(A[i]))"));
  EXPECT_THAT(TextOf("C[i] = T.reinterpret(\"float32\", I[i])"), HasSubstr("tw::bit_cast<float>(int32_t(I[i]))"));
}

TEST(EmitCall, HintsLeaveNothing) {
  EXPECT_THAT(TextOf("C[i] = T.likely(i < n)", "bool"), HasSubstr("C[i] = i < n;"));
  EXPECT_THAT(TextOf("C[i] = T.infinity(\"float32\")"), HasSubstr("C[i] = tw::bit_cast<float>(0x7f800000u);"));
}

TEST(EmitCall, FunctionsOfOthersAreRefusedByName) {
  EXPECT_EQ(WhyNot("C[i] = T.call_pure_extern(\"float32\", \"no_such_function\", A[i])"),
            "no CUDA code for calls of no_such_function");
  EXPECT_EQ(WhyNot("T.evaluate(T.call_extern(\"int32\", \"f\"))"), "no CUDA code for calls of f");
}

}  // namespace
}  // namespace tilewright::cuda
