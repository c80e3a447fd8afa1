#include "autoschedule/measure/executor/measurement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace tilewright {
namespace {

TEST(Measurement, MedianOfItsSamples) {
  EXPECT_EQ((Measurement{.seconds = {3, 1, 2}}).MedianSeconds(), 2);
  EXPECT_TRUE(std::isinf(Measurement{}.MedianSeconds()));
  // Samples of a candidate that failed in the end do not count.
  const Measurement wrong{.failure = MeasureFailure::kWrongResult, .seconds = {1}};
  EXPECT_TRUE(std::isinf(wrong.MedianSeconds()));
}

TEST(Measurement, FailuresHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int i = static_cast<int>(MeasureFailure::kNone); i <= static_cast<int>(MeasureFailure::kBusy); ++i) {
    EXPECT_TRUE(names.insert(FailureName(static_cast<MeasureFailure>(i))).second) << i;
  }
  EXPECT_EQ(FailureName(MeasureFailure::kNone), "");
  EXPECT_FALSE(FailedMeasurement(MeasureFailure::kBusy, "").ok());
}

TEST(Measurement, WhatTheEndOfAWorkerMeans) {
  using Outcome = WorkerReply::Outcome;
  const auto failure = [](const WorkerReply& reply) {
    return MeasurementOfEnded(reply, MeasureFailure::kCrash, MeasureFailure::kTimeout).failure;
  };
  EXPECT_EQ(failure({.outcome = Outcome::kTimedOut, .text = "no answer"}), MeasureFailure::kTimeout);
  EXPECT_EQ(failure({.outcome = Outcome::kEnded, .text = "signal 11"}), MeasureFailure::kCrash);
  EXPECT_EQ(failure({.outcome = Outcome::kEnded, .text = "signal 9", .killed = true}), MeasureFailure::kMemory);
  EXPECT_EQ(failure({.outcome = Outcome::kEnded, .text = "what(): std::bad_alloc"}), MeasureFailure::kMemory);
  EXPECT_EQ(MeasurementOfEnded({.outcome = Outcome::kEnded, .text = "signal 11"}, MeasureFailure::kCompileCrash,
                               MeasureFailure::kCompileTimeout)
                .message,
            "signal 11");
}

}  // namespace
}  // namespace tilewright
