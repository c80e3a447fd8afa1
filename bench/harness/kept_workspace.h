// Memory for the temporaries of a compiled function, kept between its calls.
//
//   KeptWorkspace workspace(*code, "main");
//   const TwCall call = workspace.Call(&hook);     // while the workspace lives
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

class KeptWorkspace {
 public:
  KeptWorkspace(const CompiledModule& code, std::string_view function)
      : bytes_(code.WorkspaceBytes(function)), memory_(runtime::Tensor::Allocate(runtime::kUInt8, {bytes_})) {}

  // If there is no memory, each call allocates its own, or says that it cannot.
  TwCall Call(const TwParallelHook* hook) {
    if (!memory_) return {.parallel = hook};
    return {.parallel = hook, .workspace = memory_->data<void>(), .workspace_bytes = bytes_};
  }

 private:
  const int64_t bytes_;
  std::optional<runtime::Tensor> memory_;
};

}  // namespace tilewright::bench
