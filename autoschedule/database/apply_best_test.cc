#include "autoschedule/database/apply_best.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "autoschedule/database/version_1.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Module& Program() {
  static const Module program(ops::Matmul(32, 32, 32));
  return program;
}

Target TestTarget() {
  Target target = *NamedTarget("x86-znver5");
  target.cores = 2;
  return target;
}

Database OpenFresh() {
  const std::string path =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

Schedule SplitBy(int64_t factor) {
  Schedule schedule(Program());
  const std::vector<LoopRv> loops = *schedule.GetLoops(*schedule.GetBlock("C"));
  EXPECT_TRUE(schedule.Split(loops[0], {Value(), factor}).ok());
  return schedule;
}

TuningRecord RecordOf(const Schedule& schedule, std::string uid, double seconds) {
  return {.uid = std::move(uid),
          .workload = StructuralHash(Program()),
          .target = TargetKey(TestTarget()),
          .threads = 2,
          .trace = ToJson(schedule.trace()),
          .scheduled = StructuralHash(schedule.module()),
          .seconds = {seconds}};
}

TEST(ApplyBest, PrefersRotatingOperands) {
  Database database = OpenFresh();
  TuningRecord cold = RecordOf(SplitBy(8), "cold", 1);
  cold.caches = Caches::kCold;
  ASSERT_TRUE(database.Put(cold).ok());
  auto schedule = ApplyBest(Program(), TestTarget(), database, nullptr);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(StructuralEqual(schedule->module(), SplitBy(8).module()));
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(4), "rotating", 2)).ok());
  schedule = ApplyBest(Program(), TestTarget(), database, nullptr);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(StructuralEqual(schedule->module(), SplitBy(4).module()));
}

TEST(ApplyBest, ReplaysTheFastest) {
  Database database = OpenFresh();
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(8), "8", 2)).ok());
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(4), "4", 1)).ok());
  const auto schedule = ApplyBest(Program(), TestTarget(), database, nullptr);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_TRUE(StructuralEqual(schedule->module(), SplitBy(4).module()));
}

TEST(ApplyBest, PrefersRecordsOfAsManyThreads) {
  Database database = OpenFresh();
  TuningRecord many = RecordOf(SplitBy(4), "many", 1);
  many.threads = 64;
  ASSERT_TRUE(database.Put(many).ok());
  const auto any = ApplyBest(Program(), TestTarget(), database, nullptr);
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_TRUE(StructuralEqual(any->module(), SplitBy(4).module()));
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(8), "8", 2)).ok());
  const auto same = ApplyBest(Program(), TestTarget(), database, nullptr);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(StructuralEqual(same->module(), SplitBy(8).module()));
}

TEST(ApplyBest, PassesOverStaleRecords) {
  Database database = OpenFresh();
  TuningRecord other = RecordOf(SplitBy(4), "other", 1);
  other.scheduled ^= 1;
  TuningRecord refused = RecordOf(SplitBy(4), "refused", 2);
  refused.scheduled ^= 2;
  refused.trace = R"({"trace": [{"primitive": "get_block", "args": {"name": "D"}, "results": ["b"]}]})";
  TuningRecord broken = RecordOf(SplitBy(4), "broken", 3);
  broken.scheduled ^= 3;
  broken.trace = "{}";
  for (const TuningRecord& record : {other, refused, broken}) ASSERT_TRUE(database.Put(record).ok());
  std::vector<std::string> stale;
  const auto none = ApplyBest(Program(), TestTarget(), database, nullptr, {.stale = &stale});
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("that is not stale (3 are)"));
  EXPECT_THAT(stale, ElementsAre("record other is stale: its trace leads to another program than was measured",
                                 HasSubstr("record refused is stale: get_block: "),
                                 HasSubstr("record broken has no trace that can be read: ")));
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(8), "good", 9)).ok());
  EXPECT_TRUE(ApplyBest(Program(), TestTarget(), database, nullptr).ok());
}

// Version 1 had no attribute that says for which function another one packs.
TEST(ApplyBest, TakesRecordsOfVersion1) {
  const Module program(MarkConstant(ops::Matmul(32, 32, 32), {1}));
  Schedule packed(program);
  const BlockRv panels = *packed.CacheRead(*packed.GetBlock("C"), 1, "global");
  ASSERT_TRUE(packed.HoistPrepack(panels).ok());
  TuningRecord record = RecordOf(packed, "1", 1);
  record.workload = StructuralHash(program);
  record.scheduled = HashOfVersion1(packed.module());
  ASSERT_NE(record.scheduled, StructuralHash(packed.module()));
  EXPECT_FALSE(ReplayRecord(program, record, nullptr).ok());
  record.version = kFirstTunerVersion;
  const auto replayed = ReplayRecord(program, record, nullptr);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_TRUE(StructuralEqual(replayed->module(), packed.module()));
}

TEST(ApplyBest, KnowsOnlyWhatWasMeasuredOnTheTarget) {
  Database database = OpenFresh();
  ASSERT_TRUE(database.Put(RecordOf(SplitBy(8), "8", 2)).ok());
  Target other = TestTarget();
  other.features.pop_back();
  EXPECT_TRUE(absl::IsNotFound(ApplyBest(Program(), other, database, nullptr).status()));
  const Module wider(ops::Matmul(32, 32, 64));
  EXPECT_TRUE(absl::IsNotFound(ApplyBest(wider, TestTarget(), database, nullptr).status()));
}

}  // namespace
}  // namespace tilewright
