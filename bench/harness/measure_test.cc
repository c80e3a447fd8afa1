#include "bench/harness/measure.h"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/statistics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using ::testing::ElementsAre;

TEST(Statistics, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(Quantile({5}, 0.9), 5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4, 5}, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({0, 10}, 0.1), 1);
  EXPECT_DOUBLE_EQ(Quantile({0, 10}, 1), 10);
}

TEST(Statistics, SummarizeSorts) {
  const Timing timing = Summarize({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(timing.median_ms, 3);
  EXPECT_DOUBLE_EQ(timing.p10_ms, 1.4);
  EXPECT_DOUBLE_EQ(timing.p90_ms, 4.6);
  EXPECT_EQ(timing.samples, 5);
  EXPECT_EQ(Summarize({}).samples, 0);
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(GeometricMean({0.5, 2}), 1);
  EXPECT_DOUBLE_EQ(GeometricMean({}), 0);
}

// Clocks that move only when a runner runs.
int64_t fake_nanoseconds = 0;
int64_t fake_cpu_nanoseconds = 0;
int64_t FakeNow() { return fake_nanoseconds; }
int64_t FakeCpuNow() { return fake_cpu_nanoseconds; }

// Takes a given time, the first run twenty times as long, and notes its name and the sets that it was run with.
class FakeRunner : public Runner {
 public:
  FakeRunner(char name, int64_t nanoseconds, std::string& log) : name_(name), nanoseconds_(nanoseconds), log_(log) {}

  void Run(int set) override {
    const int64_t own = (calls_ == 0 ? 20 : 1) * nanoseconds_;
    const bool disturbed = calls_ >= disturbed_begin && calls_ < disturbed_end;
    const int64_t at_this_speed = AtFullSpeed() ? own : 2 * own;
    ++calls_;
    fake_cpu_nanoseconds += at_this_speed;
    fake_nanoseconds += disturbed ? 2 * at_this_speed : at_this_speed;
    sets_.push_back(set);
    if (log_.empty() || log_.back() != name_) log_ += name_;
  }
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int, runtime::Tensor&) override { return absl::OkStatus(); }

  const std::vector<int>& sets() const { return sets_; }

  bool AtFullSpeed() const { return calls_ < slow_begin || calls_ >= slow_end; }

  // Runs in which another process takes half of the CPU, and those in which the machine is slower.
  int disturbed_begin = 0, disturbed_end = 0;
  int slow_begin = 0, slow_end = 0;

 private:
  const char name_;
  const int64_t nanoseconds_;
  std::string& log_;
  int calls_ = 0;
  std::vector<int> sets_;
};

TEST(MeasureAlternating, RunnersTakeTurnsAndSlowFirstRunsAreDropped) {
  std::string log;
  FakeRunner fast('a', 100'000, log), slow('b', 400'000, log);
  const std::vector<Timing> timings = MeasureAlternating({&fast, &slow}, {.seconds = 0.06,
                                                                          .block_nanoseconds = 10'000'000,
                                                                          .warmup_nanoseconds = 1'000'000,
                                                                          .pause_nanoseconds = 0,
                                                                          .num_sets = 3,
                                                                          .now = FakeNow,
                                                                          .cpu_now = FakeCpuNow});
  ASSERT_EQ(timings.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const double expected = i == 0 ? 0.1 : 0.4;
    EXPECT_DOUBLE_EQ(timings[i].median_ms, expected);
    EXPECT_DOUBLE_EQ(timings[i].p10_ms, expected);
    EXPECT_DOUBLE_EQ(timings[i].p90_ms, expected);
  }
  // Two rounds of two blocks of 10 ms take 52 ms with what is dropped, so there is a third.
  EXPECT_EQ(log, "ababab");
  EXPECT_EQ(timings[0].samples, 3 * 100);
  EXPECT_EQ(timings[1].samples, 3 * 25);
  ASSERT_GE(fast.sets().size(), 4u);
  EXPECT_THAT(std::vector<int>(fast.sets().begin(), fast.sets().begin() + 4), ElementsAre(0, 1, 2, 0));
}

TEST(MeasureAlternating, DisturbedBlocksAreLeftOutAndReplaced) {
  const MeasureOptions options = {.seconds = 0.09,
                                  .block_nanoseconds = 10'000'000,
                                  .warmup_nanoseconds = 0,
                                  .pause_nanoseconds = 0,
                                  .now = FakeNow,
                                  .cpu_now = FakeCpuNow};
  std::string log;
  FakeRunner undisturbed('a', 1'000'000, log);
  const Timing expected = MeasureAlternating({&undisturbed}, options).front();
  FakeRunner runner('b', 1'000'000, log);
  runner.disturbed_begin = 20;
  runner.disturbed_end = 40;
  const Timing timing = MeasureAlternating({&runner}, options).front();
  EXPECT_EQ(expected.quiet_blocks, expected.blocks);
  EXPECT_GT(timing.blocks, expected.blocks);
  // One less is possible: slow runs before a block count as time too.
  EXPECT_GE(timing.quiet_blocks, expected.blocks - 1);
  EXPECT_LT(timing.quiet_blocks, timing.blocks);
  EXPECT_DOUBLE_EQ(timing.median_ms, 1);
  EXPECT_DOUBLE_EQ(timing.p90_ms, 1);
}

TEST(MeasureAlternating, BlocksOfASlowMachineAreLeftOutAndReplaced) {
  std::string log;
  FakeRunner runner('a', 1'000'000, log);
  MeasureOptions options = {.seconds = 0.09,
                            .block_nanoseconds = 10'000'000,
                            .warmup_nanoseconds = 0,
                            .pause_nanoseconds = 0,
                            .now = FakeNow,
                            .cpu_now = FakeCpuNow};
  runner.slow_begin = 25;
  runner.slow_end = 1000;
  const Timing unnoticed = MeasureAlternating({&runner}, options).front();
  EXPECT_EQ(unnoticed.quiet_blocks, unnoticed.blocks);
  EXPECT_DOUBLE_EQ(unnoticed.p90_ms, 2);

  FakeRunner gauged('b', 1'000'000, log);
  options.full_speed = [&] { return gauged.AtFullSpeed(); };
  // From the middle of the third block to the middle of a later one.
  gauged.slow_begin = 27;
  gauged.slow_end = 50;
  const Timing timing = MeasureAlternating({&gauged}, options).front();
  EXPECT_LT(timing.quiet_blocks, timing.blocks);
  EXPECT_GT(timing.quiet_blocks, 2);
  EXPECT_DOUBLE_EQ(timing.p90_ms, 1);

  FakeRunner always('c', 1'000'000, log);
  options.full_speed = [] { return false; };
  const Timing slow = MeasureAlternating({&always}, options).front();
  EXPECT_EQ(slow.quiet_blocks, 0);
  EXPECT_DOUBLE_EQ(slow.median_ms, 1);
}

TEST(MeasureAlternating, PatienceEnds) {
  std::string log;
  FakeRunner runner('a', 1'000'000, log);
  runner.disturbed_begin = 12;
  runner.disturbed_end = 1 << 30;
  fake_nanoseconds = 0;
  const Timing timing = MeasureAlternating({&runner}, {.seconds = 0.1,
                                                       .block_nanoseconds = 10'000'000,
                                                       .warmup_nanoseconds = 0,
                                                       .pause_nanoseconds = 0,
                                                       .now = FakeNow,
                                                       .cpu_now = FakeCpuNow})
                            .front();
  EXPECT_GE(fake_nanoseconds, 300'000'000);
  EXPECT_LT(fake_nanoseconds, 330'000'000);
  EXPECT_EQ(timing.quiet_blocks, 1);
  EXPECT_GT(timing.blocks, 10);
  EXPECT_DOUBLE_EQ(timing.median_ms, 1);
}

TEST(MeasureAlternating, MeasuresEveryRunnerOnceHoweverShortTheTime) {
  std::string log;
  FakeRunner runner('a', 1'000'000, log);
  const std::vector<Timing> timings = MeasureAlternating(
      {&runner}, {.seconds = 0, .block_nanoseconds = 1, .pause_nanoseconds = 0, .now = FakeNow, .cpu_now = FakeCpuNow});
  EXPECT_EQ(timings.front().samples, 1);
  EXPECT_DOUBLE_EQ(timings.front().median_ms, 1);
}

}  // namespace
}  // namespace tilewright::bench
