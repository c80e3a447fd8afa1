// Kernels for a device, compiled together. Private to graph/executor.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/executor/kernel.h"

namespace tilewright::graph {

// One kernel for each source, in order; `sources` differ from each other. Emulated ones are one module, since its text is
// compiled by a C++ compiler that reads the same headers for each. Errors name the program.
absl::StatusOr<std::vector<Kernel>> CompileForDevice(absl::Span<const KernelSource> sources,
                                                     const KernelOptions& options);

}  // namespace tilewright::graph
