// What a loop in a plan keeps and moves. Private to graph/executor.
//
//   LoopPlanner planner(&plan, name, call);            // of host.scan or host.loop (graph/host/host_ops.h)
//   planner.Begin(*body, arguments)                    // tensors of the body's parameters
//   ... the body's steps are added to the plan ...
//   results = planner.End(body_results);               // tensors of the loop's results
//   plan.loops[number] = planner.Take();
//
// Carried values have memory that lasts for the whole loop; what the body makes of it is copied there behind its steps.
// Elements of sequences are copied to memory of their own, so that kernels find it aligned.
#pragma once

#include <string>
#include <vector>

#include "graph/executor/plan.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

bool IsLoop(const CallNode& call);

class LoopPlanner {
 public:
  LoopPlanner(ExecutablePlan* plan, const std::string& name, const CallNode& call);

  // Tensors of the call's arguments, -1 where one is absent. False: how often the loop runs is not known where its
  // results have to be.
  bool Begin(const FunctionNode& body, const std::vector<int>& arguments);
  const std::vector<int>& parameters() const { return parameters_; }
  std::vector<int> End(const std::vector<int>& results);
  PlanLoop Take() { return std::move(loop_); }

 private:
  using Row = PlanLoop::Move::Row;

  PlanTensor& RootOf(int tensor) const;
  // Memory that lasts from the beginning of the loop on.
  int AddMemory(const std::string& name, DataType dtype, std::vector<Expr> shape);
  void KeepUntil(int tensor, int step);
  // Whether the number of iterations is known, by extents or by memory.
  bool FindCount(const std::vector<int>& arguments);
  // What is next in the memory of parameters `first` and on.
  void MoveStates(const std::vector<int>& next, size_t first);

  ExecutablePlan& plan_;
  const CallNode& call_;
  const bool scans_;
  const size_t carried_, scanned_, inputs_;
  const size_t control_;  // parameters before the carried ones: the iteration and its condition
  PlanLoop loop_;
  int first_ = 0;
  std::vector<int> arguments_, parameters_;
};

}  // namespace tilewright::graph
