// What runs built candidates and times them.
#pragma once

#include <span>
#include <vector>

#include "autoschedule/measure/executor/measurement.h"

namespace tilewright {

class Executor {
 public:
  virtual ~Executor() = default;
  // One measurement for each candidate, in their order. A candidate that was not built keeps its failure. The result of
  // every candidate is compared with the reference before its time counts.
  virtual std::vector<Measurement> Measure(std::span<const BuiltCandidate> candidates, const RunOptions& options) = 0;
};

}  // namespace tilewright
