// A plan for given sizes: shapes, places in the arena, prepared arguments. Private to graph/executor.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/bound_run.h"
#include "graph/executor/planned_function.h"

namespace tilewright::graph {

// What sizes depend on: extents of the arguments, values of symbols from outside.
using SizeKey = std::vector<int64_t>;

class BoundPlan {
 public:
  // `symbols` holds what is known from outside; `shapes` are the arguments'.
  static absl::StatusOr<std::shared_ptr<BoundPlan>> Make(const PlannedFunction& function, SymbolValues symbols,
                                                         const std::vector<std::vector<int64_t>>& shapes, SizeKey key);
  // Runs take place there from now on; `run` was made of this plan.
  void RunElsewhere(std::unique_ptr<BoundRun> run) { elsewhere_ = std::move(run); }

  const SizeKey& key() const { return key_; }
  const std::vector<int64_t>& shape(int tensor) const { return shapes_[static_cast<size_t>(tensor)]; }
  int64_t bytes(int tensor) const { return bytes_[static_cast<size_t>(tensor)]; }
  // Kernels that a run starts on a device; 0 where it runs on a CPU.
  int64_t launches() const { return elsewhere_ == nullptr ? 0 : elsewhere_->launches(); }
  int64_t arena_bytes() const { return arena_bytes_; }

  struct Argument {
    enum class Memory { kInput, kOutput, kConstants, kArena, kScalar };
    Memory memory = Memory::kArena;
    int64_t at = 0;                               // number of the input or output; offset in bytes; the scalar's value
    const std::vector<int64_t>* shape = nullptr;  // null: a scalar
  };
  struct Call {
    TwUncheckedFunction run;
    size_t first;  // of its arguments
    size_t num_arguments;
    int64_t workspace_offset;  // in the arena
    int64_t workspace_bytes;
    size_t step;  // in the plan
  };
  // A result that no step writes.
  struct Copy {
    Argument from;
    size_t to;
    int64_t bytes;
  };
  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Copy>& copies() const { return copies_; }

  // Runs the steps. `inputs` and `outputs` are the memory of arguments and results, all aligned.
  absl::Status Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                   const RunOptions& options) const;
  // On the device that it was given; there is one.
  absl::StatusOr<PlacedArrays> RunThere(const PlacedArrays& arguments) const { return elsewhere_->RunThere(arguments); }

 private:
  // An argument that is the caller's memory.
  struct Patch {
    size_t argument;
    size_t index;  // of the input or output
  };
  // An arena, and the pointers of all arguments into it.
  struct Frame {
    std::unique_ptr<std::byte, void (*)(std::byte*)> arena = {nullptr, nullptr};
    std::vector<void*> data;
  };

  explicit BoundPlan(const PlannedFunction& function) : function_(function) {}
  absl::Status ComputeShapes(SymbolValues& symbols, const std::vector<std::vector<int64_t>>& shapes);
  absl::StatusOr<int64_t> BytesOf(int tensor) const;
  absl::Status CheckParts() const;
  absl::Status PlaceTensors();
  // The kernel's function for the shapes of the step's tensors.
  const KernelFunction& MainOf(const PlanStep& step) const;
  absl::Status PrepareCalls(const SymbolValues& symbols);
  absl::StatusOr<std::vector<int64_t>> ScalarsOf(const PlanStep& step, const SymbolValues& symbols) const;
  Argument ArgumentOf(const PlanStep& step, size_t number, int param, const std::vector<int64_t>& scalars) const;
  Argument TensorArgument(int tensor) const;
  void PrepareCopies();
  absl::StatusOr<std::unique_ptr<Frame>> TakeFrame() const;
  void GiveBack(std::unique_ptr<Frame> frame) const;

  const PlannedFunction& function_;
  SizeKey key_;
  std::vector<std::vector<int64_t>> shapes_;  // by tensor
  std::vector<int64_t> bytes_;                // by tensor; of roots
  std::vector<int64_t> offsets_;              // by tenant
  int64_t arena_bytes_ = 0;
  std::vector<Call> calls_;
  std::vector<Argument> arguments_;          // of all calls
  std::vector<const int64_t*> shape_table_;  // theirs
  std::vector<Patch> inputs_, outputs_;
  std::vector<Copy> copies_;
  std::unique_ptr<BoundRun> elsewhere_;  // null: here
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace tilewright::graph
