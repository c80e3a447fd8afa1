// Runs a graph: its programs compiled, its bindings in order.
//
//   TW_VALUE_OR_RETURN(std::unique_ptr<Executor> executor, Executor::Compile(module, {}));
//   TW_VALUE_OR_RETURN(Arrays results, executor->Run({x, mask}));
//
// The programs that the module's functions call are scheduled by the rules of autoschedule and compiled into one module
// of machine code; programs of the same structure are one program already (BlockBuilder::AddProgram). Results are
// allocated when their binding runs and freed after their last use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/executor/host_ops.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/symbols.h"

namespace tilewright::graph {

struct ExecutorOptions {
  bool schedule = true;                  // by the rules of autoschedule; false: as written
  bool interpret = false;                // programs run in the interpreter: slow to run, nothing to compile
  int num_threads = 0;                   // 0: one for each processor
  int64_t max_bytes = int64_t{8} << 30;  // of one result; more is an error
};

class Executor {
 public:
  // Errors name the program that does not compile.
  static absl::StatusOr<std::unique_ptr<Executor>> Compile(GraphModule module, const ExecutorOptions& options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // "main" on one array for each parameter; the fields of its result. May run in several threads at once.
  absl::StatusOr<Arrays> Run(const Arrays& arguments) const;
  // How many programs were compiled, and of these how many as they were written.
  size_t num_programs() const;
  size_t num_unscheduled() const;

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::graph
