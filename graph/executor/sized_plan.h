// A plan for every size: what a library does that is compiled once. Private to graph/executor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "graph/executor/planned_function.h"

namespace tilewright::graph {

// A sequence, and what its calls are of.
struct SizedPlan {
  struct Call {
    size_t step = 0;                               // in the function's plan
    std::vector<const KernelFunction*> functions;  // the call's own, then those of its versions
  };
  SizedSequence sequence;
  std::vector<Call> calls;
};

// Calls, places and checks of the function as BoundPlan makes them for given sizes, with numbers that the library
// computes. Constants and the name are left to the caller. `kernel_name` names the function of a program;
// `results` are names of the results. Errors name what is not known from the inputs' shapes.
absl::StatusOr<SizedPlan> PlanForAllSizes(const PlannedFunction& function,
                                          const std::function<std::string(size_t)>& kernel_name,
                                          const std::vector<std::string>& results);

// The name of a version of a kernel (Kernel::versions), whose own function is `name`.
std::string VersionName(const std::string& name, size_t version);

}  // namespace tilewright::graph
