// A function as one plan: calls of programs in order, on tensors that are told apart by where they lie.
//
//   absl::StatusOr<std::optional<ExecutablePlan>> plan = Plan(module, module.Main());
//   ... compile plan->programs, lay out plan->tensors (graph/executor/planned_function.h), run plan->steps
//
// A plan holds what does not depend on sizes: the same plan serves every value of the function's symbols. Reshapes,
// tuples and projections are not steps: a tensor that is a view of another has its `root`. Nor are programs that copy
// what is consecutive (copy_parts.h): slices are views, and what is concatenated is written in place. A function whose
// order of calls depends on data (branches, loops, operators without a program) has no plan; the executor interprets
// its bindings. A plan for a library has loops around the steps of their bodies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "graph/executor/kernel.h"
#include "graph/ir/graph_module.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {

enum class Home {
  kInput,     // memory of the caller, read
  kConstant,  // memory that is the same in every call, read
  kOutput,    // memory of the caller, written
  kArena,
};

struct PlanTensor {
  std::string name;
  DataType dtype;
  std::vector<Expr> shape;
  int root = 0;               // the tensor whose memory this one is in; itself where it is not a view
  int64_t offset = 0;         // where it begins there, in elements
  bool is_part = false;       // it takes a part of its root's memory, from `offset` on
  Home home = Home::kArena;   // of roots
  int index = 0;              // of roots: the input, constant or output; in the arena, the tenant
  TensorType cast;            // not null: a type that the tensor is seen as; its symbols get values here
  int first = -1, last = -1;  // of roots: the steps that write first and use last
};

struct PlanStep {
  // Another program for a step that replaces a part of an input, where the caller gives the result the input's memory
  // (in_place.h). It has all parameters but the one that is read.
  struct InPlace {
    int program = 0;
    size_t read = 0, written = 0;  // in `tensors`: an input and a result of the function
  };

  std::string name;          // of the value that it computes
  int program = 0;           // in ExecutablePlan::programs
  std::vector<int> tensors;  // inputs, then outputs, in the order of the program's parameters
  size_t num_inputs = 0;
  std::vector<Expr> scalars;  // the program's parameters after those
  std::optional<InPlace> in_place = {};
};

// Steps that repeat: a loop around a body's calls. An iteration moves tensors, runs its steps and moves again; loops
// inside are among its steps.
struct PlanLoop {
  struct Move {
    using Row = SizedSequence::Move::Row;
    int from = 0, to = 0;  // tensors
    Row row = Row::kNone;  // the iteration's part of a sequence's first dimension
    bool reversed = false;
  };
  std::string name;
  size_t first = 0, end = 0;       // steps
  size_t loops_end = 0;            // the loops after this one, up to there, are inside
  Expr count;                      // iterations; null: tensors say
  int trips = -1, condition = -1;  // an int64, the most iterations, and a bool, whether one follows; -1: none
  int iteration = -1;              // an int64 that has the iteration's number; -1: none
  std::vector<Move> start, before, after;
};

// A symbol whose value is an element of an input.
struct PlanRead {
  Symbol symbol;
  size_t param = 0;
  int64_t element = 0;
};

struct ExecutablePlan {
  std::string name;
  std::vector<Var> params;
  std::vector<Expr> guards;
  std::vector<Constant> constants;  // by PlanTensor::index
  std::vector<KernelSource> programs;
  std::vector<PlanTensor> tensors;  // in an order in which their shapes can be computed; the parameters come first
  std::vector<PlanStep> steps;
  std::vector<PlanLoop> loops = {};  // in order, outer ones before those inside
  std::vector<PlanRead> reads = {};
  // The fields of the result, in order. Those whose root is an output are written by a step, others are copied.
  std::vector<int> results;
  bool tuple_result = false;
};

// Nothing where the function's order of calls depends on data; `obstacle`, which may be null, then receives what it is,
// "value y of operator host.topk" for example. `for_library`: bodies of host.scan and host.loop, and
// elements of inputs that extents are made of, are part of the plan, which is then exported: BoundPlan does not run it.
absl::StatusOr<std::optional<ExecutablePlan>> Plan(const GraphModule& module, const Function& function,
                                                   std::string* obstacle = nullptr, bool for_library = false);

// Finds the steps that replace a part of an input which no step reads later, and adds such programs for them
// (PlanStep::in_place).
void AddInPlaceForms(ExecutablePlan* plan);

}  // namespace tilewright::graph
