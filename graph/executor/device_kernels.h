// Kernels for a device, compiled together. Private to graph/executor.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/executor/kernel.h"

namespace tilewright::graph {

// One kernel for each source, in order; `sources` differ from each other. Emulated ones are one module, since its text
// is compiled by a C++ compiler that reads the same headers for each. Errors name the program.
absl::StatusOr<std::vector<Kernel>> CompileForDevice(absl::Span<const KernelSource> sources,
                                                     const KernelOptions& options);

// Machine code of a module for the target, kept in the options' cache under `key`: NVRTC takes a second for a kernel.
absl::StatusOr<std::string> KeptCubin(const Module& module, const std::string& key, const KernelOptions& options);

}  // namespace tilewright::graph
