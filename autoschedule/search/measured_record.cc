#include "autoschedule/search/measured_record.h"

#include <string>

#include "autoschedule/cost/features.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/core/trace.h"
#include "schedule/script/trace_text.h"

namespace tilewright {

TuningRecord RecordOf(const Module& program, const Target& target, int threads, const Schedule& schedule,
                      const Measurement& measurement) {
  const Function main = schedule.module().Find(program.Main()->name);
  return {.workload = StructuralHash(program),
          .program = Print(program),
          .target = TargetKey(target),
          .threads = threads,
          .trace = ToJson(WithoutUnusedQueries(schedule.trace())),
          .scheduled = StructuralHash(schedule.module()),
          .features = Pack(FeaturesOf(main, target)),
          .seconds = measurement.seconds,
          .failure = std::string(FailureName(measurement.failure)),
          .message = measurement.message};
}

}  // namespace tilewright
