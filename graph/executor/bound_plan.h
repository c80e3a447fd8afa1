// A plan for given sizes: shapes, places in the arena, prepared arguments. Private to graph/executor.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/planned_function.h"

namespace tilewright::graph {

// What sizes depend on: extents of the arguments, values of symbols from outside.
using SizeKey = std::vector<int64_t>;

class BoundPlan {
 public:
  // `symbols` holds what is known from outside; `shapes` are the arguments'.
  static absl::StatusOr<std::shared_ptr<const BoundPlan>> Make(const PlannedFunction& function, SymbolValues symbols,
                                                               const std::vector<std::vector<int64_t>>& shapes,
                                                               SizeKey key);

  const SizeKey& key() const { return key_; }
  const std::vector<int64_t>& shape(int tensor) const { return shapes_[static_cast<size_t>(tensor)]; }
  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t arena_lower_bound() const { return lower_bound_; }

  // Runs the steps. `inputs` and `outputs` are the memory of arguments and results, all aligned.
  absl::Status Run(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                   const RunOptions& options) const;

 private:
  struct Step {
    TwUncheckedFunction run;
    size_t first;              // of its arguments in the tables
    int64_t workspace_offset;  // in the arena
    int64_t workspace_bytes;
    size_t number;  // in the plan
  };
  // An argument that is the caller's memory.
  struct Patch {
    size_t argument;
    size_t index;  // of the input or output
  };
  // A result that no step writes.
  struct Copy {
    Home from;
    size_t index;
    int64_t offset;  // in the constants
    size_t to;
    int64_t bytes;
  };
  // An arena, and the pointers of all arguments into it.
  struct Frame {
    std::unique_ptr<std::byte, void (*)(std::byte*)> arena = {nullptr, nullptr};
    std::vector<void*> data;
  };

  explicit BoundPlan(const PlannedFunction& function) : function_(function) {}
  absl::Status ComputeShapes(SymbolValues& symbols, const std::vector<std::vector<int64_t>>& shapes);
  absl::StatusOr<int64_t> BytesOf(int tensor) const;
  absl::Status PlaceTensors();
  absl::Status PrepareSteps(const SymbolValues& symbols);
  void PrepareArgument(const PlanStep& step, size_t number, int param, size_t scalars);
  void PrepareCopies();
  absl::StatusOr<std::unique_ptr<Frame>> TakeFrame() const;
  void GiveBack(std::unique_ptr<Frame> frame) const;

  const PlannedFunction& function_;
  SizeKey key_;
  std::vector<std::vector<int64_t>> shapes_;  // by tensor
  std::vector<int64_t> bytes_;                // by tensor; of roots
  std::vector<int64_t> offsets_;              // by tenant
  int64_t arena_bytes_ = 0, lower_bound_ = 0;
  std::vector<Step> steps_;
  std::vector<int64_t> scalars_;
  // One entry for each argument of each step. What `fixed_` does not hold is in the arena, or a patch.
  std::vector<const int64_t*> shape_table_;
  std::vector<const void*> fixed_;
  std::vector<int64_t> arena_offsets_;  // -1: not in the arena
  std::vector<Patch> inputs_, outputs_;
  std::vector<Copy> copies_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace tilewright::graph
