// FuseKernels: calls of programs become fewer calls of larger ones.
//
//   lv = R.call_tir(cls.matmul, (x, W))          lv2 = R.call_tir(cls.matmul_add_relu, (x, W, b))
//   lv1 = R.call_tir(cls.add, (lv, b))      ->
//   lv2 = R.call_tir(cls.relu, (lv1,))
//
// There is one mechanism. Two kernels of which one reads the other's result may become one: a program with the blocks
// of both, in which the result is a temporary. What becomes of the blocks is autoschedule's business, as of any
// program: elementwise ones are computed where they are used, epilogues in the tiles of a product, stages of a row one
// after the other while it is in the first cache.
//
// Siblings read the same and wait for nothing of each other: several statistics or functions of one input. They come
// last, and are joined where they become fewer loop nests.
//
// Legal is what the verifier does not refute and no third kernel lies between. Profitable is what the cost ladder says:
// the joined program is projected to take no longer than its parts. No operator and no pattern has a name here.
//
// Light kernels (elementwise, movement, reductions along rows) are joined with each other first, then with the products
// and windows that they read from or feed. Two products are in one kernel where a reduction stands between them and
// the schedule is one loop nest: attention, whose scores then stay in the caches.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/fusion/kept_decisions.h"
#include "graph/fusion/kernel_cost.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// What the pass decided, for people.
struct FusionReport {
  struct Kernel {
    std::string function, program;
    std::vector<std::string> parts;  // programs that it was made of
    double seconds = 0;
    std::string limiter;
    int nests = 0;                   // KernelCost::nests
    std::vector<std::string> apart;  // what it was not joined with, and why
  };
  // Two kernels that became one because costs say so; equal ones are one line.
  struct Join {
    std::string producer, consumer;
    PrimFunc first, second, joined;         // as KernelCost::program has them
    double seconds = 0, apart_seconds = 0;  // projected
    int calls = 0;
  };
  bool anew = true;             // false: `measured_apart` alone is wanted, and what was decided before is repeated
  std::vector<Kernel> kernels;  // in the order in which they run
  std::vector<Join> joins;
  std::vector<std::string> measured_apart;  // what was measured slower joined than apart
};

// `costs` may be shared by several calls. `report` may be null. `kept`, which may be null, has what was decided before,
// and receives what is decided now.
absl::StatusOr<GraphModule> FuseKernels(const GraphModule& module, const OpTable& ops, KernelCosts& costs,
                                        FusionReport* report = nullptr, const DecisionStore* kept = nullptr);

// One paragraph for each kernel.
std::string ToString(const FusionReport& report);

}  // namespace tilewright::graph
