#include "bench/bandwidth.h"

#include <gtest/gtest.h>

namespace tilewright::bench {
namespace {

const std::vector<LevelBandwidth> kLevels = {{.level = "L1", .bytes = 1000, .read_gbs = 200, .copy_gbs = 100},
                                             {.level = "memory", .bytes = 1 << 30, .read_gbs = 20, .copy_gbs = 10}};

TEST(Bandwidth, LevelThatHolds) {
  EXPECT_EQ(LevelThatHolds(kLevels, 1000).level, "L1");
  EXPECT_EQ(LevelThatHolds(kLevels, 1001).level, "memory");
  EXPECT_EQ(LevelThatHolds(kLevels, int64_t{1} << 40).level, "memory");
}

TEST(Bandwidth, LeastSeconds) {
  EXPECT_DOUBLE_EQ(LeastSeconds(kLevels[0], 200e9, 0), 1);
  // 50 GB copied (read and written), 100 GB read.
  EXPECT_DOUBLE_EQ(LeastSeconds(kLevels[0], 150e9, 50e9), 1 + 0.5);
  EXPECT_DOUBLE_EQ(LeastSeconds(kLevels[0], 0, 100e9), 1);
}

TEST(Bandwidth, IsMeasuredAtEachLevel) {
  runtime::ThreadPool pool({.num_threads = 1});
  const std::vector<LevelBandwidth> levels =
      MeasureBandwidth(pool, {.l1d_bytes = 32 << 10, .l2_bytes = 512 << 10, .memory_bytes = int64_t{1} << 30});
  ASSERT_EQ(levels.size(), 3u);
  for (const LevelBandwidth& level : levels) {
    EXPECT_GT(level.read_gbs, 0) << level.level;
    EXPECT_GT(level.copy_gbs, 0) << level.level;
  }
  EXPECT_EQ(levels[1].level, "L2");
}

}  // namespace
}  // namespace tilewright::bench
