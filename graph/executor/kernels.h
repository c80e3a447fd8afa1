// The compiled programs of a graph module.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/executor.h"
#include "ir/function.h"
#include "ir/interp/interp.h"

namespace tilewright {
class CompiledModule;
}
namespace tilewright::runtime {
class ThreadPool;
}

namespace tilewright::graph {

class Kernels {
 public:
  static absl::StatusOr<std::unique_ptr<Kernels>> Compile(const std::vector<PrimFunc>& programs,
                                                          const ExecutorOptions& options);
  ~Kernels();

  // Calls a program: arrays for its buffers, then its scalars.
  absl::Status Run(const std::string& name, const Arrays& arrays, const std::vector<int64_t>& scalars) const;
  size_t size() const { return programs_.size(); }
  size_t num_unscheduled() const { return unscheduled_; }

 private:
  Kernels();
  absl::Status Interpret(const std::string& name, const Arrays& arrays, const std::vector<int64_t>& scalars) const;

  std::map<std::string, PrimFunc> programs_;
  std::map<std::string, interp::Program> interpreted_;
  std::unique_ptr<CompiledModule> code_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  size_t unscheduled_ = 0;
};

}  // namespace tilewright::graph
