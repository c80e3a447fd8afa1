#include "target/calibration.h"

#include <gtest/gtest.h>

#include "target/target_json.h"

namespace tilewright {
namespace {

TEST(Calibration, GivesACompleteDescription) {
  const Target host = HostTarget();
  int loops = 0;
  const Target measured = Calibrate(host, [&] { return ++loops * 1e-6; });
  EXPECT_EQ(measured.levels.size(), host.levels.size());
  EXPECT_EQ(measured.features, host.features);
  EXPECT_DOUBLE_EQ(measured.cpu_part().fork_join_seconds, (loops + 1) / 2 * 1e-6);  // the median
  EXPECT_GT(measured.memory_gbs, 0);
  double before = measured.Nearest().bytes_per_cycle;
  for (const MemoryLevel& level : measured.levels) {
    EXPECT_GT(level.bytes_per_cycle, 0) << level.name;
    EXPECT_LE(level.bytes_per_cycle, before) << level.name;
    before = level.bytes_per_cycle;
  }
  EXPECT_GE(measured.FmaPerCycle(), 1);
  EXPECT_GE(measured.FmaLatency(), 1);
  const auto read = TargetFromJson(TargetToJson(measured));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, measured);
}

}  // namespace
}  // namespace tilewright
