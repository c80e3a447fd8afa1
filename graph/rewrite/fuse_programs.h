// FusePrograms: a primitive function whose calls are all calls of programs becomes one program.
//
//   @R.function(private=True)
//   def fused_dense_add0(x: R.Tensor((1, 784), ...)) -> R.Tensor((1, 128), ...):
//       R.func_attr({"Primitive": True})
//       with R.dataflow():
//           lv = R.call_tir(cls.matmul, (x, W), out_sinfo=R.Tensor((1, 128), ...))
//           gv = R.call_tir(cls.add, (lv, B), out_sinfo=R.Tensor((1, 128), ...))
//           R.output(gv)
//       return gv
//
// becomes a T.prim_func fused_dense_add0(x, W, B, gv) with the blocks of both, lv allocated inside; calls of the
// function become R.call_tir(cls.fused_dense_add0, (y, W, B), out_sinfo=...). What one kernel computes is then one
// program, which can be scheduled as a whole.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// Several bindings as one program.
struct Composed {
  PrimFunc program;  // its parameters: `params`, `constants`, the results, then scalars
  std::vector<Value> constants;
  std::vector<Expr> symbols;                   // the values of the scalars
  std::vector<std::pair<Symbol, Expr>> names;  // extents that have a symbol of their own (extent_names.h)
};

// The bindings are calls of programs, fields of their results and reshapes, in an order in which they may run. `params`
// are the variables that they read and do not bind, `results` those of them that are wanted outside. Nothing where a
// binding is anything else, a variable is not a tensor of known rank, or a result is bound by no call or reshape.
std::optional<Composed> ComposePrograms(const GraphModule& module, const std::string& name, std::span<const Var> params,
                                        std::span<const Binding> bindings, std::span<const Var> results);

// The same, with names for extents of `params` whose parts nothing else needs.
std::optional<Composed> ComposeWithNames(const GraphModule& module, const std::string& name,
                                         std::span<const Var> params, std::span<const Binding> bindings,
                                         std::span<const Var> results);

// Private functions with the attribute Primitive that hold anything else (branches, operators without a program) stay.
absl::StatusOr<GraphModule> FusePrograms(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
