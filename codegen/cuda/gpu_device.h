// Kernels on a GPU, through the driver.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/program.h"

namespace tilewright::cuda {

// `cubin`: the program's kernels, compiled for this machine's GPU. FailedPrecondition where there is none.
absl::StatusOr<std::unique_ptr<Device>> GpuDevice(const Program& program, const std::string& cubin);

}  // namespace tilewright::cuda
