// The tasks of a model: what there is to tune.
//
//   std::vector<ModelTask> tasks = TasksOf(plan, target);
//   ... Tune(tasks[i].program, ...) with a database, which `run` and `compile` then take ...
//
// A task is a program that kernels of the plan have in common, whatever their names: that is what a record of the
// database belongs to. Its weight is how often a run calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autoschedule/program/sizes.h"
#include "graph/executor/plan.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::graph {

struct ModelTask {
  std::string name;                  // of the program of its first kernel
  std::vector<std::string> kernels;  // "k3", as `explain` numbers them; of the second plan "k3@1"
  int calls = 0;                     // of all its kernels in a run
  Module program;                    // a function main; constant parameters are marked
  uint64_t workload = 0;
  SizesByName sizes;             // that symbolic extents are tuned for: typical ones
  uint64_t by_rules = 0;         // the schedule of the rules, as records know it (TuningRecord::scheduled)
  double projected_seconds = 0;  // of that
  double bound_seconds = 0;      // no schedule is faster
};

// The task of a program whose constant parameters are marked, with no calls.
ModelTask TaskOf(const std::string& name, const PrimFunc& program, const Target& target);

// Those that take most of a run first.
std::vector<ModelTask> TasksOf(const ExecutablePlan& plan, const Target& target);

// Those of several plans of one model, for several sizes for example.
std::vector<ModelTask> TasksOf(absl::Span<const ExecutablePlan* const> plans, const Target& target);

}  // namespace tilewright::graph
