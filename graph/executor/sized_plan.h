// A plan for every size: what a library does that is compiled once. Private to graph/executor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "graph/executor/planned_function.h"

namespace tilewright::graph {

// Calls, places and checks of the function as BoundPlan makes them for given sizes, with numbers that the library
// computes. Constants and the name are left to the caller. `kernel_name` names the function of a program;
// `results` are names of the results. Errors name what is not known from the inputs' shapes.
absl::StatusOr<SizedSequence> PlanForAllSizes(const PlannedFunction& function,
                                              const std::function<std::string(size_t)>& kernel_name,
                                              const std::vector<std::string>& results);

}  // namespace tilewright::graph
