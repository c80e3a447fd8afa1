// The shared library of a candidate, opened in this process or in a worker elsewhere (codegen/remote).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/function_abi.h"
#include "codegen/remote/remote_module.h"
#include "codegen/runtime/loaded_module.h"

namespace tilewright {

class CandidateLibrary {
 public:
  // `command` starts the worker, which receives the contents of `others` before those of `path`: libraries with
  // functions that the candidate calls by name. Without a command the library is opened here, and the process has those
  // functions.
  static absl::StatusOr<CandidateLibrary> Open(const std::vector<std::string>& command,
                                               const std::vector<std::string>& others, const std::string& path);

  // Null where the library has no such function.
  TwFunction Find(const std::string& name) const;
  int64_t WorkspaceBytes(const std::string& name) const;
  // The worker's module; null for a library in this process.
  const remote::RemoteModule* elsewhere() const { return elsewhere_.get(); }

 private:
  std::optional<runtime::LoadedModule> here_;
  std::unique_ptr<remote::RemoteModule> elsewhere_;
};

}  // namespace tilewright
