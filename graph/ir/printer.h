// Graphs as text: the peer's Relax dialect, which graph/ir/parser.h reads back to an equal module.
//
//   @I.ir_module
//   class Module:
//       @T.prim_func
//       def relu(...): ...
//
//       @R.function
//       def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
//           n = T.int64()
//           cls = Module
//           with R.dataflow():
//               lv: R.Tensor((n, 4), dtype="float32") = R.add(x, R.const(1.0, "float32"))
//               gv: R.Tensor((n, 4), dtype="float32") = R.call_tir(cls.relu, (lv,), out_sinfo=R.Tensor((n, 4),
//               dtype="float32")) R.output(gv)
//           return gv
//
// Beyond the peer: guards are `assert n == m` at the begin of a function or branch. Programs come first. Constants of
// more than 64 elements are metadata["relax.expr.Constant"][0] in the text and stand beside it.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph_module.h"

namespace tilewright::graph {

struct GraphText {
  std::string text;
  std::vector<Constant> constants;  // what metadata refers to
};

GraphText Print(const GraphModule& module);
// One function, as it stands in a module.
GraphText Print(const Function& function);

}  // namespace tilewright::graph
