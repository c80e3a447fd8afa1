// The text of kernels compiled for the CPU and run by the emulator, every access checked (docs/cuda_emulator.md).
//
// A C++ compiler of the machine compiles the text when the program is loaded; its headers come with this library.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/program.h"

namespace tilewright::cuda {

// A stream is an emulator::GridChain, and grids that are launched as dependent ones may begin before the one in front
// has ended. What ran before the first of them touched all arrays but constants. Without a stream the device has one of
// its own, until it is finished.
//
// An error of a launch says what the emulator found: kernel, thread, address, and the other side of a race.
absl::StatusOr<std::unique_ptr<Device>> EmulatedDevice(const Program& program);

// The same kernels as a library, NAME_call, NAME_cluster and NAME_params for each: what a driver of tests runs in place
// of a cubin.
absl::StatusOr<std::string> EmulatedKernels(const Program& program);

// The text that the C++ compiler is given.
std::string EmulatedText(const Program& program);

}  // namespace tilewright::cuda
