#include "codegen/cuda/wrapper_calls.h"

#include <gtest/gtest.h>

namespace tilewright::cuda {
namespace {

TEST(WrapperCalls, HaveTheNamesOfTheirFunctions) {
  EXPECT_EQ(WrapperOf("cuda.mma_m16n8k16_f32_f16"), "tw::mma_m16n8k16_f32_f16");
  EXPECT_EQ(WrapperOf("cuda.cp_async"), "tw::cp_async");
  // Those of CUDA itself, with and without underscores.
  EXPECT_EQ(WrapperOf("cuda.shfl_xor_sync"), "__shfl_xor_sync");
  EXPECT_EQ(WrapperOf("cuda.threadfence_block"), "__threadfence_block");
  EXPECT_EQ(WrapperOf("cuda.atomicCAS"), "atomicCAS");
}

TEST(WrapperCalls, OfOtherNamesAreNone) {
  for (const char* name : {"exp", "cuda", "cudamma", "xcuda.mma", ""}) EXPECT_EQ(WrapperOf(name), std::nullopt) << name;
}

}  // namespace
}  // namespace tilewright::cuda
