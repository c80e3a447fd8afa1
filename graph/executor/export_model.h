// A planned function as a library or an object of its own.
//
//   TW_RETURN_IF_ERROR(ExportFunction(*executor->planned(), {.name = "resnet50", .path = "resnet50.so"}));
//
// The file has one function for the model, `int NAME(call, args, num_args)` (docs/abi.md), its kernels, and the packed
// constants as a read-only section. It needs nothing of the compiler when it runs: its workspace, of
// NAME_workspace_bytes(), holds all values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "graph/executor/planned_function.h"
#include "target/target.h"

namespace tilewright::graph {

struct ExportOptions {
  std::string name;                  // of the function: a C identifier
  std::string path;                  // OUT.so or OUT.o; OUT.h is written beside it
  std::vector<std::string> results;  // names of the results, in the header
  std::string database = {};         // as the kernels were scheduled
  Target target = HostTarget();      // as the kernels were scheduled
};

// The extents must be numbers: of a function with symbols the error names one.
absl::Status ExportFunction(const PlannedFunction& function, const ExportOptions& options);

class BoundPlan;  // bound_plan.h

// The same for given sizes.
absl::Status ExportBound(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options);

// `text` with what C identifiers do not have replaced by '_'.
std::string CIdentifier(std::string text);

}  // namespace tilewright::graph
