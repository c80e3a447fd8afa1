// Compiles programs in memory and runs them.
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
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/options.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Machine code of a module's functions; the code lives as long as the object. Its functions may run in several threads.
class CompiledModule {
 public:
  CompiledModule(CompiledModule&&) noexcept;
  ~CompiledModule();

  // The exported function of that name, or null.
  TwFunction Find(std::string_view name) const;
  // Bytes of temporaries that a call of the function puts into TwCall::workspace.
  int64_t WorkspaceBytes(std::string_view name) const;
  // Calls a function; a code other than kTwOk becomes a status with the function's message.
  absl::Status Run(std::string_view name, std::span<TwTensor* const> args,
                   const TwParallelHook* parallel = nullptr) const;

 private:
  friend absl::StatusOr<std::unique_ptr<CompiledModule>> CompileToJit(const Module&, const Target&,
                                                                      const CompileOptions&);
  struct Code;
  explicit CompiledModule(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

// Lowers and compiles all functions of `module`. The target must be one whose code this machine can run: a feature that
// it lacks is an error.
absl::StatusOr<std::unique_ptr<CompiledModule>> CompileToJit(const Module& module, const Target& target,
                                                             const CompileOptions& options = {});

}  // namespace tilewright
