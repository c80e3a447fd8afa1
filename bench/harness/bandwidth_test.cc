#include "bench/harness/bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "codegen/runtime/timer.h"

namespace tilewright::bench {
namespace {

const std::vector<LevelBandwidth> kLevels = {{.level = "L1", .bytes = 1000, .read_gbs = 200, .copy_gbs = 100},
                                             {.level = "memory", .bytes = 1 << 30, .read_gbs = 20, .copy_gbs = 10}};

TEST(Bandwidth, LevelThatHolds) {
  EXPECT_EQ(LevelThatHolds(kLevels, 1000).level, "L1");
  EXPECT_EQ(LevelThatHolds(kLevels, 1001).level, "memory");
  EXPECT_EQ(LevelThatHolds(kLevels, int64_t{1} << 40).level, "memory");
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

TEST(Bandwidth, MoreTrafficTakesLonger) {
  runtime::ThreadPool pool({.num_threads = 1});
  const auto nanoseconds = [&](const Traffic& traffic) {
    TrafficRunner runner(traffic, pool);
    int64_t least = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
      const int64_t start = runtime::NowNanoseconds();
      runner.Run(0);
      least = std::min(least, runtime::NowNanoseconds() - start);
    }
    return least;
  };
  constexpr int64_t kBytes = 8 << 20;
  const int64_t nothing = nanoseconds({});
  EXPECT_GT(nanoseconds({.read = kBytes}), 10 * nothing);
  EXPECT_GT(nanoseconds({.written = kBytes}), 10 * nothing);
  EXPECT_GT(nanoseconds({.changed = kBytes}), 10 * nothing);
  EXPECT_GT(nanoseconds({.read = kBytes, .written = kBytes}), nanoseconds({.read = kBytes / 4, .written = kBytes / 4}));
}

}  // namespace
}  // namespace tilewright::bench
