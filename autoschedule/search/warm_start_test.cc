#include "autoschedule/search/warm_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "autoschedule/database/canonical_names.h"
#include "autoschedule/search/measured_record.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/space.h"
#include "intrin/registry.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"

namespace tilewright {
namespace {

const Target kTarget = *NamedTarget("x86-znver4");

struct Tuned {
  Module module;
  Schedule schedule;  // the rules'

  explicit Tuned(const Function& program)
      : module(program), schedule([&] {
          IntrinRegistry intrins = IntrinRegistry::Builtin();
          return AutoSchedule(module, kTarget, &intrins).schedule;
        }()) {}
  RecordQuery Query() const {
    return {.workload = WorkloadOf(module), .target = TargetKey(kTarget), .threads = kTarget.cores};
  }
  TuningRecord Record(double seconds) const {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    return RecordOf(module, kTarget, kTarget.cores, schedule, {.seconds = {seconds}}, &intrins);
  }
};

class WarmStart : public testing::Test {
 protected:
  absl::StatusOr<Database> database_ = Database::Open(":memory:");
};

TEST_F(WarmStart, TakesChoicesOfProgramsOfAKind) {
  const Tuned small(ops::Matmul(48, 64, 32)), large(ops::Matmul(96, 64, 128)), other(ops::Softmax(64, 64));
  ASSERT_TRUE(database_->Put(large.Record(1)).ok());
  ASSERT_TRUE(database_->Put(other.Record(1)).ok());
  const auto count = [&](const Tuned& tuned, RecordQuery query) {
    const auto good = GoodChoices(*database_, query, tuned.module);
    EXPECT_TRUE(good.ok()) << good.status();
    return good->size();
  };
  EXPECT_EQ(count(small, small.Query()), 1u) << "of the other product";
  EXPECT_EQ(count(large, large.Query()), 1u) << "its own";
  ASSERT_TRUE(database_->Put(small.Record(1)).ok());
  EXPECT_EQ(count(small, small.Query()), 2u);
  RecordQuery more_threads = small.Query();
  ++more_threads.threads;
  EXPECT_EQ(count(small, more_threads), 0u);
  RecordQuery cold = small.Query();
  cold.caches = Caches::kCold;
  EXPECT_EQ(count(small, cold), 0u);
}

// What was drawn under other names is made again.
TEST_F(WarmStart, GivesChoicesByTheNamesOfTheProgram) {
  const Module module(ops::Matmul(96, 64, 128)), renamed = CanonicalNames(module);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(module, kTarget, &intrins), other(renamed, kTarget, &intrins);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Outcome<Candidate> candidate = space.Make(Choices::Drawn(seed));
    if (!candidate.ok()) continue;
    absl::StatusOr<Database> database = Database::Open(":memory:");
    ASSERT_TRUE(
        database->Put(RecordOf(module, kTarget, kTarget.cores, candidate->schedule, {.seconds = {1}}, &intrins)).ok());
    const auto good = GoodChoices(
        *database, {.workload = WorkloadOf(renamed), .target = TargetKey(kTarget), .threads = kTarget.cores}, renamed);
    ASSERT_TRUE(good.ok() && good->size() == 1u);
    const Outcome<Candidate> again = other.Make(good->front());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(WorkloadOf(again->schedule.module()), WorkloadOf(candidate->schedule.module())) << seed;
  }
}

TEST_F(WarmStart, TrainsWithWhatWasMeasured) {
  const Tuned small(ops::Matmul(48, 64, 32)), large(ops::Matmul(96, 64, 128));
  ASSERT_TRUE(database_->Put(large.Record(0.5)).ok());
  TuningRecord older = large.Record(0.25);
  older.features = "of another version";
  ASSERT_TRUE(database_->Put(older).ok());
  const auto measured = MeasuredBefore(*database_, small.Query());
  ASSERT_TRUE(measured.ok()) << measured.status();
  ASSERT_EQ(measured->size(), 1u);
  EXPECT_EQ((*measured)[0].seconds, 0.5);
  EXPECT_EQ((*measured)[0].task, large.Query().workload);
  EXPECT_EQ((*measured)[0].features.numbers, FeaturesOf(large.schedule.module().Find("main"), kTarget).numbers);
}

}  // namespace
}  // namespace tilewright
