// LLVM's code in the memory of this process.
//
//   auto compiled = CompileToJit(module, HostTarget());
//   TwFunction gemm = compiled.value()->Find("main");
//   TwCall call = {.parallel = &hook};
//   TwTensor* args[] = {a.abi(), b.abi(), c.abi()};
//   if (gemm(&call, args, 3) != kTwOk) ...
//
// or, with errors as absl::Status, `compiled.value()->Run("main", {a.abi(), b.abi(), c.abi()}, &hook)`.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Lowers and compiles all functions of `module`. The target must be one whose code this machine can run: a feature that
// it lacks is an error.
absl::StatusOr<std::unique_ptr<CompiledModule>> CompileToJit(const Module& module, const Target& target,
                                                             const CompileOptions& options = {});

}  // namespace tilewright
