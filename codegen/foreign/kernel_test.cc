#include "codegen/foreign/kernel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace tilewright::foreign {
namespace {

TEST(ForeignKernelTest, AddsTwoArrays) {
  const TemporaryFolder folder;
  ASSERT_TRUE(folder.Write("add.cu", R"(
__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)"));
  auto kernel = ForeignKernel::Load((folder.path() / "add.cu").string(), {});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> a(100, 1.5f), b(100, 2.0f), c(100);
  std::vector<std::byte> arguments((*kernel)->argument_bytes());
  const auto put = [&](size_t i, auto value) {
    std::memcpy(arguments.data() + (*kernel)->parameters()[i].offset, &value, sizeof value);
  };
  put(0, a.data());
  put(1, b.data());
  put(2, c.data());
  put(3, 100);
  const std::vector<ForeignArray> arrays = {{"a", a.data(), 400, emulator::GlobalMemory::kInput},
                                            {"b", b.data(), 400, emulator::GlobalMemory::kInput},
                                            {"c", c.data(), 400, emulator::GlobalMemory::kOutput}};
  const auto result = (*kernel)->Launch({.grid = {4}, .block = {32}}, arrays, arguments.data());
  for (const auto& fault : result.faults) ADD_FAILURE() << ToString(fault);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(c[99], 3.5f);
}

}  // namespace
}  // namespace tilewright::foreign
