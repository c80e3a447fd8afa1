// A plan that runs.
//
//   TW_ASSIGN_OR_RETURN(auto function, PlannedFunction::Load(*std::move(plan), std::move(kernels), {}, &hook));
//   TW_ASSIGN_OR_RETURN(Arrays results, function->Run({x, mask}, {}, {.parallel = &hook}));
//
// When sizes are first seen, extents are computed, values get their places in the arena and the arguments of all calls
// are prepared; the last few sizes are kept. A run then passes pointers and calls kernel after kernel. Runs may take
// place at the same time in several threads: each has an arena and argument frames of its own, which are kept for the
// next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "codegen/abi/function_abi.h"
#include "graph/device/device.h"
#include "graph/executor/constant_section.h"
#include "graph/executor/kernel.h"
#include "graph/executor/plan.h"
#include "graph/ir/symbols.h"
#include "graph/memory/memory_plan.h"
#include "ir/ndarray.h"
#include "target/target.h"

namespace tilewright::graph {

using Arrays = std::vector<NDArray>;

// Code for another CPU runs in a worker (codegen/remote).
struct WorkerOptions {
  Target target;
  std::string launcher = {};  // the command before the worker; empty: an emulator of the target's architecture
  std::string database = {};  // as the kernels were scheduled
};

struct PlannedFunctionOptions {
  int64_t max_bytes = int64_t{8} << 30;  // of one tensor; more is an error
  bool poison = false;                   // each run begins with an arena of bytes 0xff: for tests
  // Called from time to time while constants are copied: what has been read so far may leave memory.
  std::function<void()> release_constants = {};
  // The place of runs, if that is not this process: kernels are of KernelUse::kDevice, or of kExport for a worker.
  std::shared_ptr<Device> device = {};
  std::optional<WorkerOptions> worker = {};
};

struct RunOptions {
  const TwParallelHook* parallel = nullptr;
  // Receive how long each step of a plan took, and when it began (codegen/runtime/timer.h); empty where the plan runs
  // elsewhere. A step that was not run took 0.
  std::vector<int64_t>* step_nanoseconds = nullptr;
  std::vector<int64_t>* step_starts = nullptr;
};

class BoundPlan;  // bound_plan.h

class PlannedFunction {
 public:
  // kernels[i] is plan.programs[i]. Packs the constants.
  static absl::StatusOr<std::unique_ptr<PlannedFunction>> Load(ExecutablePlan plan, std::vector<Kernel> kernels,
                                                               const PlannedFunctionOptions& options,
                                                               const TwParallelHook* parallel);
  ~PlannedFunction();

  // `outer`: symbols that have values besides those of the parameters' extents.
  absl::StatusOr<Arrays> Run(const Arrays& arguments, const SymbolValues& outer, const RunOptions& options) const;
  // Into arrays of the results' shapes, which overlap no argument.
  absl::Status RunInto(const Arrays& arguments, const Arrays& results, const SymbolValues& outer,
                       const RunOptions& options) const;

  // The shapes of plan().tensors in a run with these arguments.
  absl::StatusOr<std::vector<std::vector<int64_t>>> ShapesOf(const Arrays& arguments, const SymbolValues& outer) const;

  const ExecutablePlan& plan() const { return plan_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const ConstantSection& constants() const { return constants_; }
  // The same on the device, copied once.
  const DeviceMemory& device_constants() const { return device_constants_; }
  const PlannedFunctionOptions& options() const { return options_; }
  // The plan for arguments of these shapes.
  absl::StatusOr<std::shared_ptr<const BoundPlan>> Bind(const Arrays& arguments, const SymbolValues& outer) const;

 private:
  PlannedFunction() = default;

  ExecutablePlan plan_;
  std::vector<Symbol> outer_symbols_;  // that `outer` may give
  PlannedFunctionOptions options_;
  std::vector<Kernel> kernels_;
  ConstantSection constants_;
  DeviceMemory device_constants_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const BoundPlan>> bound_;  // the last used first
};

}  // namespace tilewright::graph
