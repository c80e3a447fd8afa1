// A program that names jemalloc as its allocator gets its memory there.
#include <gtest/gtest.h>
#include <jemalloc/jemalloc.h>

#include <cstdint>
#include <cstdlib>

namespace tilewright {
namespace {

uint64_t AllocatedBytes() {
  uint64_t bytes = 0;
  size_t size = sizeof bytes;
  EXPECT_EQ(mallctl("thread.allocated", &bytes, &size, nullptr, 0), 0);
  return bytes;
}

TEST(Jemalloc, IsTheAllocator) {
  constexpr size_t kBytes = 1 << 20;
  const uint64_t before = AllocatedBytes();
  void* memory = std::malloc(kBytes);
  ASSERT_NE(memory, nullptr);
  EXPECT_GE(AllocatedBytes() - before, kBytes);
  std::free(memory);
}

}  // namespace
}  // namespace tilewright
