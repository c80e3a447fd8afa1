// A plan for every size (sized_plan.h) that runs in this process. Private to graph/executor.
//
// A run at sizes that were not seen before computes places, extents and scalars into tables that exist already, some
// thousand operations: no plan is bound. Nothing is allocated where the arena is large enough.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "graph/executor/planned_function.h"
#include "graph/executor/sized_plan.h"
#include "graph/sizes/size_evaluator.h"

namespace tilewright::graph {

// Shapes of arguments.
class ShapeList {
 public:
  explicit ShapeList(const Arrays& arrays) : arrays_(&arrays) {}
  explicit ShapeList(const std::vector<std::vector<int64_t>>& shapes) : shapes_(&shapes) {}
  size_t size() const { return arrays_ != nullptr ? arrays_->size() : shapes_->size(); }
  const std::vector<int64_t>& operator[](size_t i) const {
    return arrays_ != nullptr ? (*arrays_)[i].shape() : (*shapes_)[i];
  }

 private:
  const Arrays* arrays_ = nullptr;
  const std::vector<std::vector<int64_t>>* shapes_ = nullptr;
};

class SizedRun {
 public:
  // An arena and the tables for some sizes.
  struct Frame {
    std::vector<int64_t> extents;  // that the tables are for
    bool filled = false;
    SizeEvaluator::Values values;
    std::vector<int64_t> extent_table;        // extents of arguments, one array after the other
    std::vector<void*> data;                  // by argument
    std::vector<const int64_t*> shape_table;  // by argument
    std::vector<void*> parameters;            // memory of arguments, then of results
    std::unique_ptr<std::byte, void (*)(std::byte*)> arena = {nullptr, nullptr};
    int64_t arena_bytes = 0;
  };

  // Errors name what is not known from the inputs' shapes.
  static absl::StatusOr<std::unique_ptr<SizedRun>> Make(const PlannedFunction& function);

  // A frame for arguments of these shapes; null where the model does not take them, and BoundPlan::Make says why.
  // `counters` receives what had to be allocated.
  absl::StatusOr<std::unique_ptr<Frame>> Prepare(const ShapeList& shapes, RunCounters* counters) const;
  void GiveBack(std::unique_ptr<Frame> frame) const;
  std::vector<int64_t> ResultShape(const Frame& frame, size_t result) const;

  // Runs the steps in a frame's arena. An argument and a result that the plan lets share memory may be the same array.
  absl::Status Run(Frame& frame, const Arrays& arguments, const Arrays& results, const RunOptions& options,
                   RunCounters* counters) const;

 private:
  struct Argument {
    SizedSequence::Memory memory = SizedSequence::Memory::kParam;
    size_t at = 0;  // number of the parameter; offset of constants; slot of an offset in the arena or of a scalar
    size_t first_extent = 0, rank = 0;  // in the frame's table of extents
  };
  struct Entry {
    TwUncheckedFunction run = nullptr;
    size_t first = 0;                              // of its arguments
    std::vector<std::pair<size_t, int64_t>> when;  // slots, and the values that they must have
    std::vector<SizedSequence::SharedMemory> shared;
  };
  struct Call {
    size_t step = 0;
    std::vector<Entry> entries;  // versions, then the one that always fits
    size_t workspace = 0;        // slot
    int64_t workspace_bytes = 0;
    std::vector<size_t> written;  // slots
  };
  struct Copy {
    Argument from;
    size_t to = 0, bytes = 0;  // number of the parameter; slot
  };

  explicit SizedRun(const PlannedFunction& function) : function_(function) {}
  absl::Status Compile(const SizedPlan& plan);
  absl::Status AddParams(const SizedSequence& sequence);
  absl::Status AddCall(const SizedSequence::Call& call, const SizedPlan::Call& of);
  absl::StatusOr<size_t> Slot(const Expr& number);
  absl::StatusOr<Argument> Compiled(const SizedSequence::Argument& argument);
  bool Fill(const ShapeList& shapes, Frame& frame) const;
  absl::Status GrowArena(Frame& frame, RunCounters* counters) const;
  void PlaceArguments(Frame& frame) const;
  bool IsTooLarge(const Frame& frame) const;
  absl::Status SetParameters(Frame& frame, const Arrays& arguments, const Arrays& results) const;
  absl::Status CheckShared(const Frame& frame) const;
  absl::Status CallSteps(Frame& frame, const RunOptions& options) const;
  std::unique_ptr<Frame> TakeFrame(const ShapeList& shapes) const;
  bool IsFor(const Frame& frame, const ShapeList& shapes) const;
  static const Entry& EntryOf(const Call& call, const Frame& frame);

  const PlannedFunction& function_;
  SizeEvaluator evaluator_;
  size_t num_inputs_ = 0;
  std::vector<std::vector<size_t>> shapes_;         // of parameters: slots
  std::vector<std::pair<size_t, size_t>> extents_;  // where each is found: input, dimension
  std::vector<size_t> checks_, needed_;             // slots that must not be 0; slots that must be known
  std::vector<size_t> extent_slots_;                // of the table of extents
  std::vector<Argument> arguments_;                 // of all entries
  std::vector<std::pair<size_t, size_t>> patches_;  // arguments that are parameters
  std::vector<Call> calls_;
  std::vector<Copy> copies_;
  std::vector<SizedSequence::SharedMemory> shared_;
  size_t arena_bytes_ = 0;  // slot
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace tilewright::graph
