#include "autoschedule/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "autoschedule/cost/projected.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/core/random.h"

namespace tilewright {
namespace {

// Takes its times from the programs' hashes: between 1 and 2 ms, one in eight fails.
class RecordedRunner : public Runner {
 public:
  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions&) override {
    std::vector<Measurement> measurements;
    for (const Module& candidate : candidates) {
      const uint64_t hash = StructuralHash(candidate);
      measured.push_back(hash);
      Measurement measurement;
      if (fails && hash % 8 == 0) {
        measurement.failure = MeasureFailure::kCrash;
        measurement.message = "signal 11";
      } else {
        measurement.seconds = {Seconds(hash)};
      }
      measurements.push_back(std::move(measurement));
    }
    return measurements;
  }
  static double Seconds(uint64_t hash) { return 1e-3 * (1 + static_cast<double>(hash % 1000) / 1000); }

  bool fails = true;
  std::vector<uint64_t> measured;
};

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() : space_(Module(ops::Matmul(64, 64, 64)), *NamedTarget("x86-znver4"), &intrins_) {}

  SearchResult Run(RecordedRunner& runner, SearchOptions options) {
    ProjectedModel model(space_.target());
    return Search(space_, model, runner, options);
  }

  IntrinRegistry intrins_ = IntrinRegistry::Builtin();
  const Space space_;
};

TEST_F(SearchTest, FindsTheFastestOfWhatItMeasured) {
  RecordedRunner runner;
  std::map<uint64_t, double> times;
  SearchOptions options{.seconds = 1000, .trials = 40, .seed = 3, .population = 16};
  options.on_measured = [&](const Candidate& candidate, const Measurement& measurement) {
    times[candidate.hash] = measurement.MedianSeconds();
  };
  std::set<uint64_t> finalists;
  options.on_final = [&](const Candidate& candidate, const Measurement&) { finalists.insert(candidate.hash); };
  const SearchResult result = Run(runner, options);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.statistics.measured, 40);
  EXPECT_EQ(times.size(), 40u);
  EXPECT_TRUE(finalists.contains(result.best->hash));
  EXPECT_LT(finalists.size(), 10u);
  EXPECT_DOUBLE_EQ(result.best_seconds, RecordedRunner::Seconds(result.best->hash));
  for (const auto& [hash, seconds] : times) EXPECT_LE(result.best_seconds, seconds);
}

TEST_F(SearchTest, CountsFailuresAndGoesOn) {
  RecordedRunner runner;
  const SearchResult result = Run(runner, {.seconds = 1000, .trials = 60, .seed = 1, .population = 16});
  ASSERT_TRUE(result.best);
  ASSERT_EQ(result.statistics.failed.size(), 1u);
  EXPECT_GT(result.statistics.failed.at("crash"), 0);
  EXPECT_EQ(result.failures, std::vector<std::string>{"crash: signal 11"});
}

TEST_F(SearchTest, TheSameSeedAndTimesMeasureTheSame) {
  RecordedRunner first, second, third;
  const SearchOptions options{.seconds = 1000, .trials = 24, .seed = 5, .population = 16};
  Run(first, options);
  Run(second, options);
  EXPECT_EQ(first.measured, second.measured);
  Run(third, {.seconds = 1000, .trials = 24, .seed = 6, .population = 16});
  EXPECT_NE(first.measured, third.measured);
}

TEST_F(SearchTest, PreparesTheModelAfterTheFirstMeasurements) {
  const auto measured_before = [&](SearchOptions options) {
    RecordedRunner runner;
    std::vector<size_t> measured;
    options.seconds = 1000;
    options.trials = 24;
    options.population = 16;
    options.prepare_model = [&] { measured.push_back(runner.measured.size()); };
    Run(runner, options);
    return measured;
  };
  EXPECT_EQ(measured_before({}), std::vector<size_t>{1});
  EXPECT_EQ(measured_before({.start_preferred = false}), std::vector<size_t>{0});
  EXPECT_EQ(measured_before({.evolve = false}), std::vector<size_t>{});
}

TEST_F(SearchTest, StopsAtTheBound) {
  RecordedRunner runner;
  runner.fails = false;
  const double preferred = Run(runner, {.seconds = 0}).best_seconds;
  EXPECT_EQ(Run(runner, {.seconds = 1000, .bound_seconds = preferred}).statistics.measured, 1);
  // What everything passes is not a bound.
  EXPECT_EQ(Run(runner, {.seconds = 1000, .trials = 20, .bound_seconds = 1}).statistics.measured, 20);
}

TEST_F(SearchTest, ALuckyLookAtTheBoundIsRepeated) {
  static constexpr double kBound = 0.95e-3;  // all others take a millisecond at least
  class LuckyOnce : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      const bool first = measured.empty();
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      if (first) measurements[0].seconds[0] = kBound;
      return measurements;
    }
  } runner;
  runner.fails = false;
  const SearchResult result = Run(runner, {.seconds = 1000, .trials = 20, .bound_seconds = kBound});
  EXPECT_EQ(result.statistics.measured, 20);
  EXPECT_GE(result.best_seconds, 1e-3);
}

// As when the connection to the machine that measures is lost.
TEST_F(SearchTest, WhatCannotBeMeasuredAgainKeepsItsFirstTime) {
  class LostAtTheEnd : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      if (options.rounds == 1) return measurements;
      for (Measurement& measurement : measurements) {
        measurement = {.failure = MeasureFailure::kCrash, .message = "the connection ended"};
      }
      return measurements;
    }
  } runner;
  runner.fails = false;
  const SearchResult result = Run(runner, {.seconds = 1000, .trials = 20, .seed = 1});
  ASSERT_TRUE(result.best);
  EXPECT_DOUBLE_EQ(result.best_seconds, RecordedRunner::Seconds(result.best->hash));
  EXPECT_EQ(result.failures, std::vector<std::string>{"crash: the connection ended"});
}

TEST_F(SearchTest, TheChampionIsReplacedByFasterOnesOnly) {
  // Times that one look gives are 10% off to both sides; those of several rounds in turn are right.
  class InexactAtFirst : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      for (Measurement& measurement : measurements) {
        if (options.rounds == 1 && measurement.ok()) measurement.seconds[0] *= 0.9 + 0.2 * random.Unit();
      }
      return measurements;
    }
    Random random{7};
  } runner;
  std::vector<double> champions;
  SearchOptions options{.seconds = 1000, .trials = 160, .seed = 4, .population = 16};
  options.on_progress = [&](const SearchProgress& progress) {
    if (progress.best != nullptr) champions.push_back(RecordedRunner::Seconds(progress.best->hash));
  };
  Run(runner, options);
  EXPECT_TRUE(std::ranges::is_sorted(champions, std::greater<>()));
  EXPECT_LT(champions.back(), champions.front());
}

TEST_F(SearchTest, ThePreferredScheduleIsNotLostToAnUnluckyLook) {
  class UnluckyOnce : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      const bool first = measured.empty();
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      for (size_t i = 0; i < candidates.size(); ++i) {
        if (measured[measured.size() - candidates.size() + i] == measured[0]) {
          measurements[i].seconds = {first ? 3e-3 : 0.5e-3};  // all others take one or two milliseconds
        }
      }
      return measurements;
    }
  } runner;
  runner.fails = false;
  const SearchResult result = Run(runner, {.seconds = 1000, .trials = 100, .seed = 2, .population = 16});
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->hash, runner.measured[0]);
  EXPECT_EQ(result.best_seconds, 0.5e-3);
}

TEST_F(SearchTest, FewerAreMeasuredTogetherWhereEachTakesLong) {
  class SlowRunner : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      std::this_thread::sleep_for(candidates.size() * std::chrono::milliseconds(30));
      return RecordedRunner::Run(candidates, options);
    }
  } runner;
  // 30 ms of half a second: two of them would be a tenth.
  std::vector<int64_t> measured;
  SearchOptions options{.seconds = 0.5, .population = 16};
  options.on_progress = [&](const SearchProgress& progress) { measured.push_back(progress.statistics->measured); };
  const SearchResult result = Run(runner, options);
  ASSERT_GE(measured.size(), 2u);
  EXPECT_EQ(measured[0], 1);
  for (size_t i = 1; i < measured.size(); ++i) EXPECT_LE(measured[i] - measured[i - 1], 4);
  EXPECT_EQ(result.statistics.measured, measured.back());
}

TEST_F(SearchTest, TheFinalsFitIntoTheirTime) {
  // What it measures after the last batch, and how long that would take.
  class FinalsRunner : public RecordedRunner {
   public:
    explicit FinalsRunner(double scale) : scale_(scale) { fails = false; }
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      for (Measurement& measurement : measurements) {
        measurement.seconds[0] *= scale_;
        const double look = std::max(measurement.seconds[0], options.seconds);
        looks += options.rounds;
        seconds += options.rounds * look;
      }
      return measurements;
    }
    int looks = 0;
    double seconds = 0;

   private:
    const double scale_;
  };
  const auto finals = [&](double scale) {
    FinalsRunner runner(scale);
    SearchOptions options{.seconds = 1000, .trials = 40, .seed = 3, .population = 16};
    options.on_progress = [&](const SearchProgress&) { runner.looks = 0, runner.seconds = 0; };
    bool is_final = false;
    options.on_final = [&](const Candidate&, const Measurement&) { is_final = true; };
    EXPECT_TRUE(Run(runner, options).best);
    EXPECT_TRUE(is_final);
    return std::pair(runner.looks, runner.seconds);
  };
  // Four seconds. Runs of milliseconds: twelve or thirteen thrice, then four ten times.
  EXPECT_GE(finals(1).first, 76);
  EXPECT_LE(finals(1).second, 4.001);
  // Candidates that take 0.3 to 0.6 s: fewer.
  EXPECT_LT(finals(300).first, 16);
  EXPECT_LE(finals(300).second, 6);
  // Candidates that take hours: two, twice.
  EXPECT_EQ(finals(1e7).first, 4);
}

TEST_F(SearchTest, StopsWhenTheTimeIsOver) {
  RecordedRunner runner;
  const SearchResult result = Run(runner, {.seconds = 0});
  EXPECT_EQ(result.statistics.measured, 1);  // the preferred schedule
}

// Another process holds the machine while candidates wait.
class WaitingRunner : public RecordedRunner {
 public:
  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    if (measured.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      waited_ += 0.7;
    }
    return RecordedRunner::Run(candidates, options);
  }
  double WaitedSeconds() const override { return waited_; }

 private:
  double waited_ = 0;
};

TEST_F(SearchTest, WaitingForOthersIsNoMeasuring) {
  WaitingRunner runner;
  runner.fails = false;
  const SearchResult result = Run(runner, {.seconds = 1.2, .population = 16});
  EXPECT_GT(result.statistics.measured, 2) << "0.4 s are left for candidates that take no time";
  EXPECT_GE(result.statistics.wait_seconds, 0.7);
  EXPECT_LT(result.statistics.measure_seconds, 0.6);
  EXPECT_TRUE(result.statistics.beside_preferred);
}

TEST_F(SearchTest, ASlowBatchDoesNotEndTheSearch) {
  class SlowOnce : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      if (++runs_ == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      return RecordedRunner::Run(candidates, options);
    }

   private:
    int runs_ = 0;
  } runner;
  // The second batch takes a second of the 1.8 that there are: less is left than it took.
  const SearchResult result = Run(runner, {.seconds = 2, .batch = 1, .population = 16});
  EXPECT_GT(result.statistics.measured, 2);
}

// Each look takes longer than it was asked to, as on a machine that others keep busy.
TEST_F(SearchTest, TheTimeIsKeptWhereLooksTakeLong) {
  class SlowLooks : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      std::this_thread::sleep_for(candidates.size() * options.rounds * std::chrono::milliseconds(20));
      return RecordedRunner::Run(candidates, options);
    }
  } runner;
  const auto start = std::chrono::steady_clock::now();
  const SearchResult result = Run(runner, {.seconds = 2, .population = 16});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(result.statistics.beside_preferred);
  // Three rounds of 13 candidates and ten of four would take 1.6 s, where 0.2 s are left.
  EXPECT_LT(spent.count(), 2.9);
}

TEST_F(SearchTest, WhatWaitedInVainWasNotMeasured) {
  class BusyLater : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      EXPECT_GT(options.most_wait_seconds, 0);
      EXPECT_LE(options.most_wait_seconds, 1);
      if (measured.empty()) return RecordedRunner::Run(candidates, options);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Measurement busy;
      busy.failure = MeasureFailure::kBusy;
      return std::vector<Measurement>(candidates.size(), busy);
    }
  } runner;
  runner.fails = false;
  const SearchResult result = Run(runner, {.seconds = 0.5, .population = 16});
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->hash, runner.measured[0]);
  EXPECT_DOUBLE_EQ(result.best_seconds, RecordedRunner::Seconds(result.best->hash));
  EXPECT_EQ(result.statistics.measured, 1);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_FALSE(result.statistics.beside_preferred);
}

// The rules' schedule met a slow moment: what seemed faster is measured in turn with it before it is the best.
TEST_F(SearchTest, ThePreferredScheduleIsAmongTheLastFew) {
  class AllFaster : public RecordedRunner {
   public:
    std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
      const bool first = measured.empty();
      std::vector<Measurement> measurements = RecordedRunner::Run(candidates, options);
      for (size_t i = 0; i < candidates.size(); ++i) {
        const bool preferred = measured[measured.size() - candidates.size() + i] == measured[0];
        measurements[i].seconds = {preferred ? (first ? 20e-3 : 3e-3) : 13.9e-3};
      }
      return measurements;
    }
  } runner;
  runner.fails = false;
  std::set<uint64_t> finalists;
  SearchOptions options{.seconds = 1000, .trials = 60, .seed = 1, .population = 16};
  options.on_final = [&](const Candidate& candidate, const Measurement&) { finalists.insert(candidate.hash); };
  const SearchResult result = Run(runner, options);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->hash, runner.measured[0]);
  EXPECT_TRUE(finalists.contains(runner.measured[0]));
}

}  // namespace
}  // namespace tilewright
