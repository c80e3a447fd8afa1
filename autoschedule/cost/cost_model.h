// What a scheduled program will cost, by models from cheap and rough to dear and exact.
//
//   ProjectedModel model(target);
//   std::vector<double> seconds = model.Predict(candidates);      // of each scheduled function, not lowered
//   model.Update(measured, times, task);
//
// The rungs of the ladder, one interface: speed_of_light.h (a lower bound, from hardware numbers alone), projected.h
// (what the schedule does, by arithmetic), learned.h (trained on measurements of the run, with the projection among its
// features, and the projection before the first). The top rung, measuring, is not a CostModel: it takes machine code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/function.h"

namespace tilewright {

class CostModel {
 public:
  virtual ~CostModel() = default;
  // One number for each function, less is better: seconds, unless the model's header says otherwise.
  virtual std::vector<double> Predict(std::span<const Function> scheduled) const = 0;
  // What programs of one task took, in seconds; `task` is any number that names it. Only models that learn take notice.
  virtual void Update(std::span<const Function> /*scheduled*/, std::span<const double> /*seconds*/, uint64_t /*task*/) {
  }
};

}  // namespace tilewright
