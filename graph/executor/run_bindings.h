// What an executor holds, and how functions without a plan run: binding by binding. Private to graph/executor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "codegen/runtime/thread_pool.h"
#include "graph/executor/executor.h"
#include "graph/executor/kernels.h"
#include "graph/executor/uses.h"

namespace tilewright::graph {

struct ExecutorState {
  GraphModule module;
  ExecutorOptions options;
  std::unique_ptr<runtime::ThreadPool> pool;
  // By function: a plan, or the kernels, constants and uses of all functions that have none.
  std::map<std::string, std::unique_ptr<PlannedFunction>> plans;
  std::unique_ptr<Kernels> kernels;
  std::map<const CallNode*, HostFunction> host;
  std::unordered_map<const ConstantNode*, NDArray> constants;
  std::map<std::string, Uses> uses;
  size_t num_kernels = 0, num_unscheduled = 0, num_compiled = 0, num_kept = 0;
  std::vector<SlowKernel> slow_kernels;
  // What functions that were split run (split_function.h): names of parts, which are plans, or what the host runs.
  std::vector<std::string> steps;
};

// A function of the executor's module; the fields of its result.
absl::StatusOr<Arrays> RunFunction(const ExecutorState& state, const Function& function, const Arrays& arguments,
                                   const RunOptions& options);

}  // namespace tilewright::graph
