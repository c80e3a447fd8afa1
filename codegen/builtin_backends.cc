#include "codegen/backend.h"
#include "codegen/cuda/cuda_backend.h"
#include "codegen/llvm/llvm_backend.h"

namespace tilewright {

BackendRegistry BackendRegistry::Builtin() {
  BackendRegistry registry;
  registry.Add(MakeLlvmBackend());
  registry.Add(MakeCudaBackend());
  return registry;
}

absl::StatusOr<Artifact> Compile(const Module& module, const Target& target, const CompileOptions& options) {
  return BackendRegistry::Builtin().Compile(module, target, options);
}

absl::StatusOr<std::unique_ptr<CompiledModule>> CompileAndLoad(const Module& module, const Target& target,
                                                               const CompileOptions& options) {
  return BackendRegistry::Builtin().CompileAndLoad(module, target, options);
}

}  // namespace tilewright
