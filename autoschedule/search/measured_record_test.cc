#include "autoschedule/search/measured_record.h"

#include <gtest/gtest.h>

#include "autoschedule/sketch/space.h"
#include "intrin/registry.h"
#include "ir/ops/matmul.h"
#include "ir/structural.h"
#include "schedule/core/trace.h"
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
  const TuningRecord record = RecordOf(module, target, target.cores, candidate->schedule, {.seconds = {1}});
  EXPECT_EQ(record.trace, ToJson(WithoutUnusedQueries(recorded)));
  Schedule replayed(module, {.intrins = &intrins});
  EXPECT_TRUE(replayed.Replay(WithoutUnusedQueries(recorded)).ok());
  EXPECT_EQ(StructuralHash(replayed.module()), record.scheduled);
}

}  // namespace
}  // namespace tilewright
