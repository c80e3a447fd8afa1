// Compiled or interpreted programs by name, for bindings that are executed one by one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/parallel_hook.h"
#include "graph/executor/kernel.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

using Arrays = std::vector<NDArray>;

class Kernels {
 public:
  static absl::StatusOr<std::unique_ptr<Kernels>> Compile(const std::vector<PrimFunc>& programs,
                                                          const KernelOptions& options);
  // kernels[i] is programs[i], without constant parameters.
  static std::unique_ptr<Kernels> Of(const std::vector<PrimFunc>& programs, std::vector<Kernel> kernels);
  // Nothing to compile, slow to run.
  static absl::StatusOr<std::unique_ptr<Kernels>> Interpret(const std::vector<PrimFunc>& programs);

  // Calls a program: arrays for its buffers, then its scalars.
  absl::Status Run(const std::string& name, const Arrays& arrays, const std::vector<int64_t>& scalars,
                   const TwParallelHook* parallel = nullptr) const;
  size_t size() const { return programs_.size(); }

 private:
  struct Entry {
    PrimFunc program;
    Kernel kernel;
  };

  Kernels() = default;
  absl::Status RunCompiled(const Entry& entry, const Arrays& arrays, std::vector<int64_t> scalars,
                           const TwParallelHook* parallel) const;

  std::map<std::string, Entry> programs_;
  std::map<std::string, interp::Program> interpreted_;
};

}  // namespace tilewright::graph
