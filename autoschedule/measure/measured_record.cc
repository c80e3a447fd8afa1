#include "autoschedule/measure/measured_record.h"

#include <string>

#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/trace_text.h"

namespace tilewright {

TuningRecord RecordOf(const Module& program, const Target& target, int threads, const Schedule& schedule,
                      const Measurement& measurement) {
  return {.workload = StructuralHash(program),
          .program = Print(program),
          .target = TargetKey(target),
          .threads = threads,
          .trace = ToJson(schedule.trace()),
          .scheduled = StructuralHash(schedule.module()),
          .seconds = measurement.seconds,
          .failure = std::string(FailureName(measurement.failure)),
          .message = measurement.message};
}

}  // namespace tilewright
