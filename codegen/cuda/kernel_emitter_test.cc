// The text of one kernel: statements, scalars, builtins, and vectors as wide accesses.
#include "codegen/cuda/kernel_emitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A kernel of 32 threads with these lines, on flat arrays A, B, C of `type`.
absl::StatusOr<Kernel> EmitLines(const std::string& lines, const std::string& type = "float32") {
  const Function function = ParseFunctionOrDie(absl::StrReplaceAll(R"(
@T.prim_func
def main(A: T.Buffer((256,), "TYPE"), B: T.Buffer((256,), "TYPE"), C: T.Buffer((256,), "TYPE"), n: T.int32):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        LINES
)",
                                                                   {{"TYPE", type}, {"LINES", lines}}));
  HostBuffers hosts;
  for (const Param& param : function->params) {
    if (param.buffer) hosts.emplace(param.buffer->data.get(), HostBuffer{param.buffer, hosts.size()});
  }
  const Target target = NamedTarget("cuda-sm80").value();
  const EmitOptions options;
  return KernelEmitter(target, hosts, options).Emit("kernel", function->body);
}

std::string TextOf(const std::string& lines, const std::string& type = "float32") {
  const auto kernel = EmitLines(lines, type);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? kernel->text : "";
}

TEST(KernelEmitter, ParametersAreWhatTheKernelTouches) {
  const auto kernel = EmitLines("C[i] = A[i]");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_EQ(kernel->params.size(), 2u);
  EXPECT_FALSE(kernel->params[0].written);
  EXPECT_TRUE(kernel->params[1].written);
  EXPECT_EQ(AsInt(kernel->block[0]), 32);
}

TEST(KernelEmitter, ParenthesesStandWhereOperatorsBindLess) {
  const std::string text = TextOf("C[i] = (A[i] + B[i]) * A[i] - B[i]");
  EXPECT_THAT(text, HasSubstr("] + "));
  EXPECT_THAT(text, HasSubstr(") * A["));
  EXPECT_THAT(text, Not(HasSubstr("((A[")));
}

TEST(KernelEmitter, NarrowTypesAreComputedAsFloats) {
  const std::string text = TextOf("C[i] = A[i] * B[i]", "float16");
  EXPECT_THAT(text, HasSubstr("C[i] = tw::narrow<tw::f16>(tw::widen(A[i]) * tw::widen(B[i]));"));
}

TEST(KernelEmitter, AdjacentLanesAreOneAccess) {
  const std::string text = TextOf("C[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]");
  EXPECT_THAT(text, HasSubstr("tw::Vec<float, 4>"));
  EXPECT_THAT(text, Not(HasSubstr("A[")));
}

TEST(KernelEmitter, LanesWhoseAlignmentIsNotKnownAreApart) {
  const std::string text = TextOf("C[T.Ramp(i * 4 + n, 1, 4)] = A[T.Ramp(i * 4 + n, 1, 4)]");
  EXPECT_THAT(text, Not(HasSubstr("tw::Vec")));
}

TEST(KernelEmitter, BuiltinsAreFunctionsOfTheDevice) { EXPECT_THAT(TextOf("C[i] = T.sqrt(A[i])"), HasSubstr("sqrt")); }

// The name of a function is a text, which a kernel cannot hold.
TEST(KernelEmitter, WhatHasNoTypeIsRefused) {
  const auto kernel = EmitLines("C[i] = T.call_pure_extern(\"float32\", \"no_such_function\", A[i])");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(std::string(kernel.status().message()), "CUDA C++ has no type for handle");
}

}  // namespace
}  // namespace tilewright::cuda
