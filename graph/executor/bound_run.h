// What runs a bound plan elsewhere than in this process's CPU. Private to graph/executor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/executor/placed_array.h"
#include "graph/executor/planned_function.h"

namespace tilewright::graph {

class BoundPlan;

class BoundRun {
 public:
  virtual ~BoundRun() = default;
  // `inputs` and `outputs` are memory of this process, all aligned.
  virtual absl::Status Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                           const RunOptions& options) = 0;
  // Arguments may lie on the device; the results do.
  virtual absl::StatusOr<PlacedArrays> RunThere(const PlacedArrays& arguments);
  // Kernels that a run starts on a device.
  virtual int64_t launches() const = 0;
};

// On function.options().device. Both must outlive it.
absl::StatusOr<std::unique_ptr<BoundRun>> RunOnDevice(const PlannedFunction& function, const BoundPlan& bound);
// As a library (export_model.h) in the worker of function.options().worker.
absl::StatusOr<std::unique_ptr<BoundRun>> RunInWorker(const PlannedFunction& function, const BoundPlan& bound);

}  // namespace tilewright::graph
