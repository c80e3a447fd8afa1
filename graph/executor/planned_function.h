// A plan that runs.
//
//   TW_ASSIGN_OR_RETURN(auto function, PlannedFunction::Load(*std::move(plan), std::move(kernels), {}, &hook));
//   TW_ASSIGN_OR_RETURN(Arrays results, function->Run({x, mask}, {}, {.parallel = &hook}));
//
// One plan serves all values of symbolic extents (sized_run.h): a run at new sizes computes places and extents into
// tables that exist. A function of given sizes, or one that runs elsewhere, is bound to sizes when they are first
// seen; the last few are kept. A run then passes pointers and calls kernel after kernel. Runs may take place at the
// same time in several threads: each has an arena and argument frames of its own, which are kept for the next.
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
#include "graph/executor/placed_array.h"
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
  // Receives the instructions of a run in a worker whose emulator counts them.
  int64_t* instructions = nullptr;
};

// What runs of a function cost besides its kernels, since it was loaded.
struct RunCounters {
  int64_t plans = 0;            // bound to sizes, or made for all of them
  int64_t frames = 0;           // tables of arguments
  int64_t allocated_bytes = 0;  // of arenas
  int64_t copied_bytes = 0;     // of arguments that are not aligned, and of results that no kernel writes
};

class BoundPlan;  // bound_plan.h
class SizedRun;   // sized_run.h

class PlannedFunction {
 public:
  // kernels[i] is plan.programs[i]. Packs the constants.
  static absl::StatusOr<std::unique_ptr<PlannedFunction>> Load(ExecutablePlan plan, std::vector<Kernel> kernels,
                                                               const PlannedFunctionOptions& options,
                                                               const TwParallelHook* parallel);
  ~PlannedFunction();

  // `outer`: symbols that have values besides those of the parameters' extents.
  absl::StatusOr<Arrays> Run(const Arrays& arguments, const SymbolValues& outer, const RunOptions& options) const;
  // Into arrays of the results' shapes, which overlap no argument. A result may be the array of an argument of its
  // shape where the plan says so (PlanStep::in_place): a cache to which the run appends.
  absl::Status RunInto(const Arrays& arguments, const Arrays& results, const SymbolValues& outer,
                       const RunOptions& options) const;

  // The shapes of a run's results, for callers that bring the memory.
  absl::StatusOr<std::vector<std::vector<int64_t>>> ResultShapes(const Arrays& arguments,
                                                                 const SymbolValues& outer) const;

  // On options().device, which there is: arguments that lie there are not copied in, and results stay there.
  absl::StatusOr<PlacedArrays> RunThere(const PlacedArrays& arguments, const SymbolValues& outer) const;

  // Memory for runs with arguments of these shapes and smaller ones: they allocate nothing. Only where extents are
  // symbols.
  absl::Status Reserve(const std::vector<std::vector<int64_t>>& shapes) const;
  RunCounters counters() const;

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
  absl::StatusOr<std::shared_ptr<const BoundPlan>> BindShapes(const std::vector<std::vector<int64_t>>& shapes,
                                                              const SymbolValues& outer) const;
  // The plan of all sizes; null where there is none, or `outer` has values that sizes depend on.
  const SizedRun* Sized(const SymbolValues& outer) const;
  absl::Status RunBound(const BoundPlan& bound, const Arrays& arguments, const Arrays& results,
                        const RunOptions& options) const;
  void Count(const RunCounters& counters) const;

  ExecutablePlan plan_;
  std::vector<Symbol> outer_symbols_;  // that `outer` may give
  PlannedFunctionOptions options_;
  std::vector<Kernel> kernels_;
  ConstantSection constants_;
  DeviceMemory device_constants_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const BoundPlan>> bound_;  // the last used first
  mutable bool asked_for_all_sizes_ = false;
  mutable std::unique_ptr<SizedRun> sized_;  // null: none, or not asked for yet
  mutable RunCounters counters_;
};

}  // namespace tilewright::graph
