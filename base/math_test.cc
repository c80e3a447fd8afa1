#include "base/math.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace tilewright {
namespace {

TEST(MathTest, RoundUp) {
  for (int64_t n = 0; n < 40; ++n) {
    for (int64_t size = 1; size < 12; ++size) {
      EXPECT_EQ(RoundUp(n, size) % size, 0);
      EXPECT_GE(RoundUp(n, size), n);
      EXPECT_LT(RoundUp(n, size), n + size);
      EXPECT_EQ(CeilDiv(n, size) * size, RoundUp(n, size));
    }
  }
  static_assert(CeilDiv<size_t>(9, 4) == 3);
}

}  // namespace
}  // namespace tilewright
