// Kernels on a GPU, through the driver.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/program.h"
#include "target/target.h"

namespace tilewright::cuda {

// `cubin`: the program's kernels, compiled for this machine's GPU. FailedPrecondition where there is none.
absl::StatusOr<std::unique_ptr<Device>> GpuDevice(const Program& program, const std::string& cubin);

// Whether this machine has a GPU that runs kernels compiled for the target; an error says what it has instead.
absl::Status CheckGpuRuns(const Target& target);
// The architecture for which NVRTC compiles the target's kernels so that this machine's GPU runs them: "sm_90" for
// cuda-sm80 on a GPU of capability 9.0; the target's own where the GPU is not a later one, or where there is none.
std::string ArchitectureToRun(const Target& target);
// The name of the first GPU; empty where there is none.
std::string DeviceName();

}  // namespace tilewright::cuda
