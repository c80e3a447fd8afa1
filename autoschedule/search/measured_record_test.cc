#include "autoschedule/search/measured_record.h"

#include <gtest/gtest.h>

#include "autoschedule/database/apply_best.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/sketch/space.h"
#include "intrin/registry.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/core/trace.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

// Candidates keep such queries in their traces; what is remembered of them does not.
TEST(MeasuredRecord, HoldsNoUnusedQueries) {
  const Module module(ops::Matmul(64, 64, 64));
  const Target target = *NamedTarget("x86-znver4");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(module, target, &intrins);
  const Outcome<Candidate> candidate = space.Make(Choices::Drawn(1));
  ASSERT_TRUE(candidate.ok());
  const Trace& recorded = candidate->schedule.trace();
  ASSERT_LT(WithoutUnusedQueries(recorded).instructions.size(), recorded.instructions.size());
  const TuningRecord record = RecordOf(module, target, target.cores, candidate->schedule, {.seconds = {1}}, &intrins);
  const auto trace = TraceFromJson(record.trace);
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->instructions.size(), WithoutUnusedQueries(recorded).instructions.size());
  Schedule replayed(CanonicalNames(module), {.intrins = &intrins});
  EXPECT_TRUE(replayed.Replay(*trace).ok());
  EXPECT_EQ(WorkloadOf(replayed.module()), record.scheduled);
}

// Every candidate's record leads to that candidate, whatever the program is called.
TEST(MeasuredRecord, HoldsForAProgramOfOtherNames) {
  const Module module(MarkConstant(ops::Matmul(64, 64, 64), {1})), renamed = CanonicalNames(module);
  const Target target = *NamedTarget("x86-znver4");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Space space(module, target, &intrins), other(renamed, target, &intrins);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome<Candidate> candidate = space.Make(Choices::Drawn(seed));
    if (!candidate.ok()) continue;
    const TuningRecord record = RecordOf(module, target, target.cores, candidate->schedule, {.seconds = {1}}, &intrins);
    EXPECT_EQ(record.workload, WorkloadOf(renamed));
    const auto own = ReplayRecord(module, record, &intrins), applied = ReplayRecord(renamed, record, &intrins);
    ASSERT_TRUE(own.ok() && applied.ok()) << own.status() << applied.status();
    EXPECT_EQ(StructuralHash(own->module()), candidate->hash);
    EXPECT_EQ(WorkloadOf(applied->module()), WorkloadOf(own->module()));
    EXPECT_EQ(ToText(own->trace()), ToText(WithoutUnusedQueries(candidate->schedule.trace())));
  }
}

}  // namespace
}  // namespace tilewright
