#include "autoschedule/search/measured_record.h"

#include <string>

#include "autoschedule/cost/features.h"
#include "autoschedule/database/canonical_names.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/core/trace.h"
#include "schedule/script/trace_text.h"

namespace tilewright {

TuningRecord RecordOf(const Module& program, const Target& target, int threads, const Schedule& schedule,
                      const Measurement& measurement, IntrinRegistry* intrins) {
  const Function main = schedule.module().Find(program.Main()->name);
  const Module canonical = CanonicalNames(program);
  TuningRecord record{.workload = StructuralHash(canonical),
                      .program = Print(canonical),
                      .target = TargetKey(target),
                      .threads = threads,
                      .features = Pack(FeaturesOf(main, target)),
                      .seconds = measurement.seconds,
                      .failure = std::string(FailureName(measurement.failure)),
                      .message = measurement.message};
  const Trace trace = WithoutUnusedQueries(schedule.trace());
  const auto renamed = ReplayRenamed(trace, program, canonical, intrins);
  if (renamed.ok()) {
    record.trace = ToJson(renamed->trace());
    record.scheduled = WorkloadOf(renamed->module());
  } else {
    // A program with several blocks of one name: it is known by its names.
    record.workload = StructuralHash(program);
    record.program = Print(program);
    record.trace = ToJson(trace);
    record.scheduled = StructuralHash(schedule.module());
  }
  return record;
}

}  // namespace tilewright
