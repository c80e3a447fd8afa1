// From a lowered module to kernels and the host's part of each function (program.h).
//
// A loop over threads becomes a kernel, with the allocations of shared and local memory around it. Loops, branches and
// allocations of global memory outside of all loops over threads belong to the host. Statements that compute without
// any loop over threads run as a kernel of one thread, so that every program has code: a slow one where it is not
// scheduled.
#pragma once

#include "absl/status/statusor.h"
#include "codegen/cuda/program.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::cuda {

absl::StatusOr<Program> EmitProgram(const Module& lowered, const Target& target, const EmitOptions& options = {});

}  // namespace tilewright::cuda
