// The constants of a plan as its kernels read them: copied, or packed by the kernels' own functions, in one read-only
// piece of memory.
//
//   TW_ASSIGN_OR_RETURN(ConstantSection section, ConstantSection::Make(plan, kernels, &hook));
//   const void* weight = section.Constant(3);           // constant 3 as it is
//   const void* panels = section.Packed(step, 0);       // what the step's kernel has packed
//
// A constant that all its readers read packed is there in packed form only. Equal packings are made once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "codegen/abi/parallel_hook.h"
#include "graph/executor/kernel.h"
#include "graph/executor/plan.h"
#include "graph/executor/read_only_memory.h"

namespace tilewright::graph {

class ConstantSection {
 public:
  // kernels[i] is plan.programs[i]. `release`, which may be null: see PlannedFunctionOptions. Where kernels do not run
  // the section has offsets and no elements.
  static absl::StatusOr<ConstantSection> Make(const ExecutablePlan& plan, absl::Span<const Kernel> kernels,
                                              const TwParallelHook* parallel, const std::function<void()>& release);

  int64_t bytes() const { return bytes_; }
  const std::byte* data() const { return memory_.data(); }
  // Offsets in the section; -1 for a constant that nobody reads as it is.
  int64_t ConstantOffset(int constant) const { return constants_[static_cast<size_t>(constant)]; }
  int64_t PackedOffset(int step, int packed) const {
    return packed_[static_cast<size_t>(step)][static_cast<size_t>(packed)];
  }

 private:
  ReadOnlyMemory memory_;
  int64_t bytes_ = 0;
  std::vector<int64_t> constants_;
  std::vector<std::vector<int64_t>> packed_;  // by step
};

}  // namespace tilewright::graph
