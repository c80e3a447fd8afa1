#include "codegen/cuda/cuda_module.h"

#include <utility>

#include "base/status_macros.h"

namespace tilewright::cuda {

absl::StatusOr<std::unique_ptr<CompiledModule>> CudaModule::Make(const Program& program,
                                                                 std::unique_ptr<Device> device) {
  std::unique_ptr<CudaModule> module(new CudaModule(std::move(device)));
  size_t first_kernel = 0;
  for (const DeviceFunction& function : program.functions) {
    TW_ASSIGN_OR_RETURN(auto runner, FunctionRunner::Compile(function, first_kernel, program.gpu));
    first_kernel += function.kernels.size();
    Entry entry{.runner = std::move(runner)};
    entry.closure = std::make_unique<Closure>([run = entry.runner.get(), on = module->device_.get()](
                                                  const TwCall* call, TwTensor* const* args, int32_t num_args) {
      return run->NeedsStaging(*on, args, num_args) ? run->RunStaged(*on, call, args, num_args)
                                                    : run->Run(*on, call, args, num_args);
    });
    if (entry.closure->function() == nullptr) {
      return absl::ResourceExhaustedError("the system gives no memory for code");
    }
    module->entries_.emplace(function.name, std::move(entry));
  }
  return module;
}

TwFunction CudaModule::Find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.closure->function();
}

int64_t CudaModule::WorkspaceBytes(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? 0 : found->second.runner->workspace_bytes();
}

absl::StatusOr<std::unique_ptr<PreparedCall>> CudaModule::Prepare(std::string_view name,
                                                                  std::span<TwTensor* const> args, void* workspace,
                                                                  int64_t workspace_bytes) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return absl::NotFoundError("no function " + std::string(name));
  const TwCall call = {.workspace = workspace, .workspace_bytes = workspace_bytes};
  return found->second.runner->Prepare(*device_, &call, args.data(), static_cast<int32_t>(args.size()));
}

absl::StatusOr<std::unique_ptr<PreparedCall>> PrepareCall(const CompiledModule& module, std::string_view name,
                                                          std::span<TwTensor* const> args, void* workspace,
                                                          int64_t workspace_bytes) {
  return static_cast<const CudaModule&>(module).Prepare(name, args, workspace, workspace_bytes);
}

}  // namespace tilewright::cuda
