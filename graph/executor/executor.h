// Runs a graph: its programs compiled, its bindings in order.
//
//   TW_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Executor::Compile(module, {}));
//   TW_ASSIGN_OR_RETURN(Arrays results, executor->Run({x, mask}));
//
// The programs that the module's functions call are compiled in parallel, each structure once
// (graph/executor/kernel.h). A function whose order of calls does not depend on data runs as a plan
// (graph/executor/planned_function.h): one arena, prepared arguments, packed constants. Of the others the bindings are
// executed one by one; results are allocated when their binding runs and freed after their last use. Bodies of loops
// are functions, so they may have plans.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/executor/kernel.h"
#include "graph/executor/plan.h"
#include "graph/executor/planned_function.h"
#include "graph/host/host_ops.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/symbols.h"

namespace tilewright::graph {

struct ExecutorOptions {
  KernelOptions kernels = {};
  bool interpret = false;                        // programs run in the interpreter: slow to run, nothing to compile
  bool poison = false;                           // each run of a plan begins with an arena of bytes 0xff: for tests
  int num_threads = 0;                           // 0: one for each processor
  int64_t max_bytes = int64_t{8} << 30;          // of one result; more is an error
  std::function<void()> release_constants = {};  // PlannedFunctionOptions
  bool for_library = false;                      // plans are exported (plan.h)
  // PlannedFunctionOptions. What of a function has no plan runs on the host, between parts that have one.
  std::shared_ptr<Device> device = {};
  std::optional<WorkerOptions> worker = {};
};

struct SlowKernel {
  std::string name;  // of the first value that it computes, or of its program where there is no plan
  int calls = 0;     // in plans
  KernelPace pace;
};

// One step of a module whose kernels run elsewhere: a part with a plan, or what the host runs before the next part.
struct ExecutorStep {
  std::string host;                       // "value y of operator host.nonzero" for example
  const PlannedFunction* part = nullptr;  // null: `host`
};

struct ExecutorState;  // run_bindings.h

class Executor {
 public:
  // Errors name the program that does not compile.
  static absl::StatusOr<std::unique_ptr<Executor>> Compile(GraphModule module, const ExecutorOptions& options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // "main" on one array for each parameter; the fields of its result. May run in several threads at once.
  absl::StatusOr<Arrays> Run(const Arrays& arguments, RunOptions options = {}) const;
  // The same into arrays of the results' shapes, those of an earlier run for example: nothing is allocated where memory
  // was reserved (planned()->Reserve) or sizes were seen. "main" must have a plan.
  absl::Status RunInto(const Arrays& arguments, const Arrays& results, RunOptions options = {}) const;
  // The plan of "main"; null where it has none.
  const PlannedFunction* planned() const;
  // What runs where, in order, then the functions that loops call; empty where main has a plan or kernels run in this
  // process.
  std::vector<ExecutorStep> steps() const;
  // How many programs were compiled, and of these how many as they were written.
  size_t num_programs() const;
  size_t num_unscheduled() const;
  // How many were compiled because the cache did not have them, and how many of all it has now.
  size_t num_compiled() const;
  size_t num_kept() const;
  // Threads that loops run in.
  int num_threads() const;
  // The kernels that are far from their speed of light, each once, those that lose most first.
  const std::vector<SlowKernel>& slow_kernels() const;

 private:
  explicit Executor(std::unique_ptr<ExecutorState> state);
  std::unique_ptr<ExecutorState> state_;
};

}  // namespace tilewright::graph
