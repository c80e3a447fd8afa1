// What makes runnable code of candidates, before anything is measured.
#pragma once

#include <span>
#include <vector>

#include "autoschedule/measure/executor/measurement.h"
#include "ir/function.h"

namespace tilewright {

class Builder {
 public:
  virtual ~Builder() = default;
  // One for each candidate, in their order. A candidate with a counter above its limit in `limits` fails. Code is kept
  // for candidates that come again.
  virtual std::vector<BuiltCandidate> Build(std::span<const Module> candidates, const Counters& limits) = 0;
};

}  // namespace tilewright
