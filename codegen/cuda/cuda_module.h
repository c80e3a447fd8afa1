// Loaded kernels as functions of the C interface (docs/abi.md).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "codegen/abi/closure.h"
#include "codegen/backend.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/function_runner.h"
#include "codegen/cuda/prepared_call.h"
#include "codegen/cuda/program.h"

namespace tilewright::cuda {

class CudaModule : public CompiledModule {
 public:
  // `device` has the kernels of the program, in its order.
  static absl::StatusOr<std::unique_ptr<CompiledModule>> Make(const Program& program, std::unique_ptr<Device> device);

  TwFunction Find(std::string_view name) const override;
  // Always null: arguments decide grids and copies, so they are looked at in each call.
  TwUncheckedFunction FindUnchecked(std::string_view) const override { return nullptr; }
  int64_t WorkspaceBytes(std::string_view name) const override;
  // What PrepareCall gives for this module.
  absl::StatusOr<std::unique_ptr<PreparedCall>> Prepare(std::string_view name, std::span<TwTensor* const> args,
                                                        void* workspace, int64_t workspace_bytes) const;

 private:
  struct Entry {
    std::unique_ptr<FunctionRunner> runner;
    std::unique_ptr<Closure> closure;
  };
  explicit CudaModule(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const std::unique_ptr<Device> device_;
  std::map<std::string, Entry, std::less<>> entries_;
};

// A call of a function of `module`, which was loaded for a GPU; it must outlive the call. Arrays lie on the device.
// `workspace`, of WorkspaceBytes(name), lies there too.
absl::StatusOr<std::unique_ptr<PreparedCall>> PrepareCall(const CompiledModule& module, std::string_view name,
                                                          std::span<TwTensor* const> args, void* workspace,
                                                          int64_t workspace_bytes);

}  // namespace tilewright::cuda
