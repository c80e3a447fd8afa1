// emit_kernel.cc: signature, launch and statements of a kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/cuda/testing/emitted_lines.h"

namespace tilewright::cuda {
namespace {

using testing::EmitLines;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TextOf;
using testing::WhyNot;

TEST(EmitKernel, ParametersAreWhatTheKernelTouches) {
  const auto kernel = EmitLines("C[i] = A[i]");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_EQ(kernel->params.size(), 2u);
  EXPECT_FALSE(kernel->params[0].written);
  EXPECT_TRUE(kernel->params[1].written);
  EXPECT_THAT(kernel->text,
              HasSubstr("kernel(tw::Global<const float> __restrict__ A, tw::Global<float> __restrict__ C) {"));
  // Scalars come last.
  EXPECT_THAT(TextOf("C[i] = T.Cast(\"float32\", n)"),
              HasSubstr("kernel(tw::Global<float> __restrict__ C, int32_t n)"));
}

TEST(EmitKernel, LaunchesHaveTheExtentsOfThreadLoops) {
  const auto kernel = EmitLines(R"(for k in T.thread_binding(n, thread="blockIdx.x"):
            C[k * 32 + i] = A[k])");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(AsInt(kernel->block[0]), 32);
  EXPECT_EQ(AsInt(kernel->block[1]), 1);
  EXPECT_FALSE(AsInt(kernel->grid[0]));  // n
  EXPECT_THAT(kernel->text, HasSubstr("__launch_bounds__(32)"));
  EXPECT_THAT(kernel->text, HasSubstr("const int32_t k = int32_t(blockIdx.x);"));
}

// A launch has the largest extent of a tag; loops of fewer threads are branches.
TEST(EmitKernel, LoopsOfFewerThreadsAreBranches) {
  const auto kernel = EmitLines(R"(for j in T.thread_binding(4, thread="threadIdx.y"):
            B[j * 32 + i] = A[i]
        for k in T.thread_binding(2, thread="threadIdx.y"):
            C[k * 32 + i] = A[i])");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(AsInt(kernel->block[1]), 4);
  EXPECT_THAT(kernel->text, HasSubstr("if (int32_t(threadIdx.y) < 2) {\n    C[k * 32 + i] = A[i];"));
}

TEST(EmitKernel, StatementsAreThoseOfTheProgram) {
  EXPECT_THAT(TextOf("if i < n:\n            C[i] = A[i]\n        else:\n            C[i] = B[i]"),
              HasSubstr("if (i < n) {\n    C[i] = A[i];\n  } else {\n    C[i] = B[i];\n  }"));
  EXPECT_THAT(TextOf("while I[i] < n:\n            I[i] = I[i] * 2"),
              HasSubstr("while (I[i] < n) {\n    I[i] = I[i] * 2;\n  }"));
  EXPECT_THAT(TextOf("with T.LetStmt(A[i] * B[i]) as x:\n            C[i] = x + x"),
              HasSubstr("const float x = A[i] * B[i];\n  C[i] = x + x;"));
}

// A bound that is not a constant is evaluated once, as in the program.
TEST(EmitKernel, LoopsHaveBoundsOfTheirOwn) {
  EXPECT_THAT(TextOf("for j in range(n * 2):\n            C[j] = A[j]"),
              HasSubstr("const int32_t j_end = n * 2;\n  for (int32_t j = 0; j < j_end; ++j) {"));
  EXPECT_THAT(TextOf("for j in range(2, 9):\n            C[j] = A[j]"), HasSubstr("for (int32_t j = 2; j < 9; ++j) {"));
}

TEST(EmitKernel, LoopsOverRegistersAreUnrolled) {
  const std::string text = TextOf(R"(S = T.allocate([4], "float32", "local")
        for j in range(4):
            S[j] = A[j]
        C[i] = S[3])");
  EXPECT_THAT(text, HasSubstr("alignas(16) float S[4];"));
  EXPECT_THAT(text, HasSubstr("#pragma unroll\n  for (int32_t j = 0; j < 4; ++j) {"));
  EXPECT_THAT(TextOf("for j in range(4):\n            C[j] = A[j]"), Not(HasSubstr("#pragma unroll\n")));
}

TEST(EmitKernel, SharedMemoryIsCounted) {
  const auto kernel = EmitLines(R"(S = T.allocate([64], "float32", "shared")
        S[i] = A[i]
        T.tvm_storage_sync("shared")
        C[i] = S[31 - i])");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->shared_bytes, 256);
  EXPECT_THAT(kernel->text, HasSubstr("const tw::Shared<float> S = tw::SharedAt<float>(0);"));
  EXPECT_THAT(kernel->text, HasSubstr("  __syncthreads();\n"));
  EXPECT_THAT(kernel->text, HasSubstr("// kernel: 256 bytes of shared memory.\n//   i < 32 in threadIdx.x\n"));
}

TEST(EmitKernel, Refuses) {
  const auto allocated = [](const std::string& count, const std::string& scope) {
    return WhyNot("S = T.allocate([" + count + "], \"float32\", \"" + scope +
                  "\")\n        S[0] = A[i]\n        C[i] = S[0]");
  };
  EXPECT_EQ(allocated("n", "local"), "buffer S in a kernel does not have a constant size");
  EXPECT_EQ(allocated("60000", "local"),
            "buffer S of 240000 bytes is allocated by each thread, at most 65536 are possible");
  EXPECT_EQ(allocated("64", "warp"), "buffer S is in scope warp, which is not lowered");
  EXPECT_EQ(WhyNot("assert i < n, \"too many\"\n        C[i] = A[i]"),
            "an assertion inside of a kernel (\"too many\")");
  EXPECT_EQ(WhyNot("for k in T.thread_binding(i + 1, thread=\"threadIdx.y\"):\n            C[k] = A[k]"),
            "the extent of loop k in threadIdx.y changes within a launch");
}

}  // namespace
}  // namespace tilewright::cuda
