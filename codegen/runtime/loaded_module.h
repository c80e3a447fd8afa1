// Opens shared libraries that code generation has written.
//
//   std::string error;
//   std::optional<LoadedModule> module = LoadedModule::Open("gemm.so", &error);
//   TwFunction gemm = module->Find("main");
//
// A library says which processor features its code uses; one that this machine cannot run is refused here, before any
// of its code runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codegen/abi/function_abi.h"

namespace tilewright::runtime {

class LoadedModule {
 public:
  // nullopt with the reason in `error` when the file is not such a library or needs features that are missing.
  static std::optional<LoadedModule> Open(const std::string& path, std::string* error);

  // Null when there is no function of that name.
  TwFunction Find(const std::string& name) const;
  // The same without checks of its arguments.
  TwUncheckedFunction FindUnchecked(const std::string& name) const;
  // Bytes that a call of the function puts into TwCall::workspace.
  int64_t WorkspaceBytes(const std::string& name) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  explicit LoadedModule(void* library) : library_(library) {}
  std::unique_ptr<void, Close> library_;
};

// The first of the comma-separated features ("avx2,fma") that this processor lacks; empty when it has all. Features
// are named as LLVM names them; one that is not known counts as missing.
std::string MissingFeature(const std::string& features);

}  // namespace tilewright::runtime
