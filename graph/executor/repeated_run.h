// A function with a plan that runs again and again, as the body of a loop does, and results that are kept side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/planned_function.h"
#include "graph/host/host_ops.h"
#include "graph/ir/symbols.h"

namespace tilewright::graph {

// While arguments keep their shapes, sizes are bound once, and memory of results that nobody holds any more is written
// again. Results never share the memory of arguments.
class RepeatedRun {
 public:
  // All of these outlive it.
  RepeatedRun(const PlannedFunction& function, const SymbolValues& outer, const RunOptions& options)
      : function_(function), outer_(outer), options_(options) {}

  absl::StatusOr<Arrays> Run(const Arrays& arguments);

 private:
  using Memory = std::shared_ptr<std::byte[]>;

  bool IsLikeBefore(const Arrays& arguments) const;
  NDArray ResultArray(size_t result);

  const PlannedFunction& function_;
  const SymbolValues& outer_;
  const RunOptions& options_;
  bool changes_ = false;                          // shapes did
  std::vector<std::vector<int64_t>> shapes_;      // of the arguments of the last run
  std::shared_ptr<const BoundPlan> bound_;        // null: not yet
  std::vector<std::vector<Memory>> memory_ = {};  // by result
  std::vector<void*> inputs_, outputs_;
};

// Equal arrays one after the other along a new first dimension.
class Stacked {
 public:
  // `count`: how many there are to be, at least one, where that is known; they may then be stacked from the last on.
  explicit Stacked(std::optional<int64_t> count = std::nullopt, bool reverse = false)
      : capacity_(count.value_or(0)), reverse_(reverse) {}

  absl::Status Add(const NDArray& part);
  // Nothing where none was added.
  std::optional<NDArray> Take() const;

 private:
  void Reserve(int64_t capacity);

  int64_t capacity_, count_ = 0;
  bool reverse_;
  NDArray first_;
  std::shared_ptr<std::byte[]> memory_;
};

}  // namespace tilewright::graph
