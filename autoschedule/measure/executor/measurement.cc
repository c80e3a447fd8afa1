#include "autoschedule/measure/executor/measurement.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "autoschedule/measure/executor/sampling.h"
#include "base/statistics.h"

namespace tilewright {

Measurement FailedMeasurement(MeasureFailure failure, std::string message) {
  return {.failure = failure, .message = std::move(message)};
}

Measurement MeasurementOfEnded(const WorkerReply& reply, MeasureFailure crash, MeasureFailure timeout) {
  if (reply.outcome == WorkerReply::Outcome::kTimedOut) return FailedMeasurement(timeout, reply.text);
  const bool memory = reply.killed || absl::StrContains(reply.text, "std::bad_alloc");
  return FailedMeasurement(memory ? MeasureFailure::kMemory : crash, reply.text);
}

std::string_view FailureName(MeasureFailure failure) {
  switch (failure) {
    case MeasureFailure::kNone:
      return "";
    case MeasureFailure::kCompileError:
      return "compile error";
    case MeasureFailure::kCompileCrash:
      return "compile crash";
    case MeasureFailure::kCompileTimeout:
      return "compile timeout";
    case MeasureFailure::kOverLimit:
      return "over a limit";
    case MeasureFailure::kRunError:
      return "run error";
    case MeasureFailure::kWrongResult:
      return "wrong result";
    case MeasureFailure::kCrash:
      return "crash";
    case MeasureFailure::kTimeout:
      return "timeout";
    case MeasureFailure::kBusy:
      return "busy machine";
    case MeasureFailure::kMemory:
      return "out of memory";
  }
  return "";
}

double Measurement::MedianSeconds() const {
  return ok() && !seconds.empty() ? Median(seconds) : std::numeric_limits<double>::infinity();
}

}  // namespace tilewright
