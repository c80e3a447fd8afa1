#include "autoschedule/tune/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "autoschedule/cost/projected.h"
#include "autoschedule/database/apply_best.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/measure/runner.h"
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
  EXPECT_EQ(StructuralHash(applied->module()), StructuralHash(tuned->schedule.module()));
  const uint64_t best = WorkloadOf(applied->module());

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
  Target other = HostTarget();
  other.name = "other";
  other.features.push_back("no-such-feature");
  const std::string message(Tune(Module(ops::Matmul(16, 16, 16)), other, &intrins).status().message());
  EXPECT_EQ(message, "this machine does not run code for other: it lacks no-such-feature");
  EXPECT_EQ(Tune(Module(ops::Matmul(16, 16, 16)), *NamedTarget("cuda-sm90"), &intrins, {.launcher = "ssh board"})
                .status()
                .message(),
            "a launcher reaches CPUs: GPUs are measured on this machine only");
  const auto cold =
      Tune(Module(ops::Matmul(16, 16, 16)), *NamedTarget("cuda-sm90"), &intrins, {.caches = Caches::kCold});
  EXPECT_EQ(cold.status().message(), "cold caches are measured on CPUs only");
}

// Without such a GPU the times of candidates are projected, and kept as such.
TEST(Tune, ProjectsForGpus) {
  const Target target = *NamedTarget("cuda-sm90a");
  if (!IsEmulated(target, "")) GTEST_SKIP() << "this machine has the GPU";
  auto database = Database::Open(":memory:");
  ASSERT_TRUE(database.ok()) << database.status();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module module(ops::Matmul(256, 256, 256, *ops::OperandTypes::Parse("f16f32")));
  const auto tuned = Tune(module, target, &intrins, {.seconds = 120, .trials = 12, .seed = 1, .database = &*database});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_TRUE(tuned->emulated);
  EXPECT_EQ(tuned->caution.find("nothing was run: this machine has no GPU for cuda-sm90a"), 0u) << tuned->caution;
  EXPECT_GT(tuned->seconds, 0);
  EXPECT_EQ(tuned->statistics.measured, 12);
  const auto kept = database->All();
  ASSERT_FALSE(kept->empty());
  for (const TuningRecord& record : *kept) EXPECT_TRUE(record.target.ends_with(" emulated")) << record.target;
  // The best of them is no slower than what the rules prefer.
  const Schedule preferred = AutoSchedule(module, target, &intrins).schedule;
  EXPECT_LE(tuned->seconds, Project(preferred.module().Main(), target).seconds);
  const auto applied = ApplyBest(module, target, *database, &intrins);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(StructuralHash(applied->module()), StructuralHash(tuned->schedule.module()));
}

}  // namespace
}  // namespace tilewright
