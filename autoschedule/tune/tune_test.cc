#include "autoschedule/tune/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "autoschedule/database/apply_best.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

TEST(Tune, KeepsWhatItMeasuredAndGoesOnFromThere) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/tune.db";
  auto database = Database::Open(path);
  ASSERT_TRUE(database.ok()) << database.status();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = HostTarget();
  const Module module(ops::Matmul(48, 64, 32));
  const TuneOptions options{.seconds = 60, .trials = 12, .seed = 1, .database = &*database};
  const auto tuned = Tune(module, target, &intrins, options);
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->statistics.measured, 12);
  EXPECT_GT(tuned->seconds, 0);
  const auto kept = database->All();
  EXPECT_EQ(std::ranges::count(*kept, false, &TuningRecord::final), 12);

  // What was found is what the database gives.
  const auto applied = ApplyBest(module, target, *database, &intrins);
  ASSERT_TRUE(applied.ok()) << applied.status();
  const uint64_t best = StructuralHash(applied->module());
  EXPECT_EQ(best, StructuralHash(tuned->schedule.module()));

  // The next run measures what was best first.
  ASSERT_TRUE(Tune(module, target, &intrins, {.seconds = 60, .trials = 3, .seed = 2, .database = &*database}).ok());
  const auto records = database->All();
  bool again = false;
  for (size_t i = kept->size(); i < records->size(); ++i) again |= (*records)[i].scheduled == best;
  EXPECT_TRUE(again);
}

// Times of one kind do not serve a search with another.
TEST(Tune, KeepsCachesApart) {
  auto database = Database::Open(":memory:");
  ASSERT_TRUE(database.ok()) << database.status();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(ops::Matmul(48, 64, 32));
  for (const Caches caches : {Caches::kCold, Caches::kWarm, Caches::kRotating}) {
    const auto tuned =
        Tune(module, HostTarget(), &intrins, {.seconds = 60, .trials = 2, .caches = caches, .database = &*database});
    EXPECT_TRUE(tuned.ok()) << tuned.status();
  }
  const auto best = database->BestOfEach();
  ASSERT_EQ(best->size(), 3u);
  EXPECT_EQ((*best)[0].caches, Caches::kCold);
  EXPECT_EQ((*best)[1].caches, Caches::kWarm);
  EXPECT_EQ((*best)[2].caches, Caches::kRotating);
}

TEST(Tune, NeedsAFunctionMain) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  EXPECT_EQ(Tune(Module(), HostTarget(), &intrins).status().message(),
            "which function? there are several, and none is main");
}

TEST(Tune, NeedsAMachineThatRunsTheTarget) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::string message(
      Tune(Module(ops::Matmul(16, 16, 16)), *NamedTarget("cuda-sm90"), &intrins).status().message());
  EXPECT_EQ(message.find("this machine does not run code for cuda-sm90"), 0u) << message;
}

}  // namespace
}  // namespace tilewright
