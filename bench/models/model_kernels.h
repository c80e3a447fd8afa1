// The kernels of a model that is planned for a GPU, as its compiler takes them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "target/target.h"

namespace tilewright::bench {

struct ModelKernels {
  int compiled = 0;
  std::string compiler;              // "NVRTC", or "text" where it is not installed: then only the text is written
  std::vector<std::string> refused;  // "PROGRAM: 17 spill bytes, at most 0 are allowed"
};

// Each kernel of the module's main once, by the rules; refused are spills, stack frames, warnings of ptxas that it
// serializes matrix instructions, and what does not compile. `most`: no more kernels than that; 0: all. Errors say why
// the module has no kernels.
absl::StatusOr<ModelKernels> CompileModelKernels(const graph::GraphModule& module, const Target& target, int most = 0);

}  // namespace tilewright::bench
