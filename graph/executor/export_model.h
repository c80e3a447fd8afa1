// A planned function as a library or an object of its own.
//
//   TW_RETURN_IF_ERROR(ExportFunction(*executor->planned(),
//                                     {.name = "resnet50", .path = "resnet50.so", .target = target}));
//
// The file has one function for the model, `int NAME(call, args, num_args)` (docs/abi.md), its kernels, and the packed
// constants as a read-only section. It needs nothing of the compiler when it runs: its workspace, of
// NAME_workspace_bytes(), holds all values. Where extents of inputs are symbols, the function serves all of their
// values, and NAME_workspace_bytes takes them (codegen/sized_sequence.h).
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
  Target target;                     // as the kernels were scheduled; one without a name is an error
  bool emulate = false;              // for a GPU: kernels of its emulator, as CompileOptions::emulate
};

// Errors name an extent that no shape of an input tells.
absl::Status ExportFunction(const PlannedFunction& function, const ExportOptions& options);

class BoundPlan;  // bound_plan.h

// The same for given sizes.
absl::Status ExportBound(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options);

}  // namespace tilewright::graph
