#include "autoschedule/measure/projecting_runner.h"

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/projected.h"

namespace tilewright {

std::vector<Measurement> ProjectingRunner::Run(std::span<const Module> candidates, const RunOptions& options) {
  std::vector<Measurement> results(candidates.size());
  if (builder_ != nullptr) {
    const std::vector<BuiltCandidate> built = builder_->Build(candidates, options.limits);
    for (size_t i = 0; i < built.size(); ++i) results[i] = built[i].measurement;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!results[i].ok()) continue;
    const Function main = candidates[i].Find(function_);
    if (!main) {
      results[i] =
          FailedMeasurement(MeasureFailure::kRunError, absl::StrCat("the candidate has no function ", function_));
      continue;
    }
    results[i].seconds = {Project(main, target_).seconds};
  }
  return results;
}

std::string ProjectingRunner::caution() const {
  return absl::StrCat("nothing was run: this machine has no GPU for ", target_.name, ", times are projected",
                      builder_ == nullptr ? ", and NVRTC is not installed, so spills are not seen" : "");
}

}  // namespace tilewright
