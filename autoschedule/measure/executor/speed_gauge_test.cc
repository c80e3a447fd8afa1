#include "autoschedule/measure/executor/speed_gauge.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright {
namespace {

// Readings as given, the last one again and again.
struct Machine {
  std::vector<int64_t> readings;
  size_t next = 0;
  int64_t waited = 0;

  SpeedGauge Gauge() {
    return SpeedGauge([this] { return readings[next + 1 < readings.size() ? next++ : next]; },
                      [this](int64_t nanoseconds) { waited += nanoseconds; });
  }
};

TEST(SpeedGauge, ComparesWithTheFastestSoFar) {
  Machine machine{{100, 105, 200, 60, 100}};
  SpeedGauge gauge = machine.Gauge();
  EXPECT_EQ(gauge.Read(), 1);
  EXPECT_TRUE(gauge.IsFull());
  EXPECT_EQ(gauge.Read(), 0.5);
  EXPECT_EQ(gauge.Read(), 1);
  EXPECT_FALSE(gauge.IsFull());
}

TEST(SpeedGauge, WaitsUntilTheSpeedIsFull) {
  Machine machine{{100, 200, 190, 104}};
  SpeedGauge gauge = machine.Gauge();
  EXPECT_TRUE(gauge.Await());
  EXPECT_EQ(machine.waited, 0);
  EXPECT_TRUE(gauge.Await());
  EXPECT_EQ(machine.waited, 6'000'000);
  EXPECT_TRUE(gauge.Await());
  EXPECT_EQ(machine.waited, 6'000'000);
}

TEST(SpeedGauge, DoesNotWaitForWhatNeverComes) {
  Machine machine{{100, 200}};
  SpeedGauge gauge = machine.Gauge();
  EXPECT_TRUE(gauge.Await());
  EXPECT_FALSE(gauge.Await());
  EXPECT_NEAR(static_cast<double>(machine.waited), 1e9, 5e6);
  const int64_t before = machine.waited;
  EXPECT_FALSE(gauge.Await());
  EXPECT_EQ(machine.waited, before);
  gauge.Spent(100'000'000);
  EXPECT_FALSE(gauge.Await());
  EXPECT_NEAR(static_cast<double>(machine.waited - before), 50e6, 5e6);
}

TEST(SpeedGauge, ReadsAPool) {
  runtime::ThreadPool pool({.num_threads = 2});
  SpeedGauge gauge(pool);
  for (int i = 0; i < 10; ++i) {
    const double speed = gauge.Read();
    EXPECT_GT(speed, 0);
    EXPECT_LE(speed, 1);
  }
}

}  // namespace
}  // namespace tilewright
