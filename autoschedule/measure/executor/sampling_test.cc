#include "autoschedule/measure/executor/sampling.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/statistics.h"

namespace tilewright {
namespace {

// A clock that runs only in runs: each takes the next of `lengths`, again and again.
struct Machine {
  std::vector<int64_t> lengths;
  int64_t time = 0;
  size_t runs = 0, preparations = 0;

  std::vector<int64_t> Measure(const SamplingOptions& options) {
    return Sample([&] { ++preparations; }, [&] { time += lengths[runs++ % lengths.size()]; }, options,
                  [&] { return time; });
  }
};

TEST(Sampling, EndsWhenTheMedianIsKnown) {
  Machine steady{{1'000'000}};
  const std::vector<int64_t> samples =
      steady.Measure({.least_nanoseconds = 10'000'000, .warmup_nanoseconds = 5'000'000});
  EXPECT_EQ(samples.size(), 10u);
  EXPECT_EQ(steady.runs, 15u);
  EXPECT_EQ(steady.preparations, 15u);
  Machine noisy{{1'000'000, 1'500'000, 1'100'000, 1'400'000, 1'200'000, 1'300'000}};
  EXPECT_GT(noisy.Measure({.most_nanoseconds = 200'000'000, .least_nanoseconds = 10'000'000}).size(), 50u);
}

TEST(Sampling, EndsWithTheTimeOrTheSamples) {
  Machine slow{{400'000'000}};
  EXPECT_EQ(slow.Measure({.warmup_nanoseconds = 0}).size(), 1u);
  Machine noisy{{1'000'000, 3'000'000}};
  const std::vector<int64_t> samples = noisy.Measure({.most_nanoseconds = 20'000'000, .warmup_nanoseconds = 0});
  EXPECT_EQ(std::accumulate(samples.begin(), samples.end(), int64_t{0}), 20'000'000);
  EXPECT_EQ(noisy.Measure({.most_samples = 7}).size(), 7u);
}

TEST(Sampling, GivesUpWhatIsTooSlow) {
  Machine machine{{2'000'000}};
  EXPECT_EQ(machine.Measure({.give_up_nanoseconds = 1'900'000}).size(), 3u);
  EXPECT_GT(machine.Measure({.give_up_nanoseconds = 2'000'000}).size(), 3u);
}

TEST(Sampling, MedianIsKnown) {
  EXPECT_FALSE(MedianIsKnown({5, 5, 5, 5, 5}, 0.01));
  EXPECT_TRUE(MedianIsKnown({5, 5, 5, 5, 5, 5, 5, 5}, 0.01));
  std::vector<int64_t> samples(100);
  std::iota(samples.begin(), samples.end(), 1000);
  // The interval is from the 40th to the 60th.
  EXPECT_TRUE(MedianIsKnown(samples, 0.011));
  EXPECT_FALSE(MedianIsKnown(samples, 0.008));
}

TEST(Sampling, RoundsAreLevelled) {
  // The second one is 2% slower. Both run half as fast in the last three of six rounds, and a neighbour slows the first
  // one in one of them.
  const std::vector<double> moods = {1, 1.01, 0.99, 2, 2.02, 1.98};
  std::vector<std::vector<std::vector<double>>> samples(2);
  for (const double mood : moods) {
    samples[0].push_back({mood, mood, mood * 1.5});
    samples[1].push_back({mood * 1.02});
  }
  samples[0][4] = {2.5, 2.5};
  LevelRounds(samples);
  const auto median = [](const std::vector<std::vector<double>>& rounds) {
    std::vector<double> medians;
    for (const std::vector<double>& round : rounds) medians.push_back(Median(round));
    return Median(medians);
  };
  EXPECT_NEAR(median(samples[1]) / median(samples[0]), 1.02, 0.002);
  // A spread that only one of them has is its own.
  EXPECT_NEAR(samples[0][0][2] / samples[0][0][0], 1.5, 1e-12);
}

TEST(Sampling, NothingIsKnownOfTheRoundsOfOneCandidate) {
  std::vector<std::vector<std::vector<double>>> samples = {{{1, 2}, {3}}};
  const auto before = samples;
  LevelRounds(samples);
  EXPECT_EQ(samples, before);
}

}  // namespace
}  // namespace tilewright
