// The passes that change no program. graph/pipeline.h has the list that modules go through.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"
#include "graph/rewrite/lowering.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// lv1 = R.exp(x); lv2 = R.exp(x)   ->   one of them. Pure values only; where the first one is visible.
absl::StatusOr<GraphModule> EliminateCommonSubexpressions(const GraphModule& module, const OpTable& ops);

// Removes pure bindings that nothing uses, outputs that nothing outside uses, unused parameters of private functions
// with the arguments of their calls, and private functions and programs that no public function reaches.
absl::StatusOr<GraphModule> EliminateDeadCode(const GraphModule& module, const OpTable& ops);

// Computes the value of a call whose arguments are constants: one array, or one for each field of a tuple. Nothing
// where it does not want to. The module holds the program of a call of one.
using ConstantFolder =
    std::function<absl::StatusOr<std::optional<std::vector<NDArray>>>(const GraphModule& module, const Value& call)>;

// Replaces pure calls of constants by constants, and small integer tensors whose values are known. Nothing that grows
// is folded: a result with more bytes than its constant arguments stays computed, unless it has at most
// kMaxKnownValues elements.
absl::StatusOr<GraphModule> FoldConstants(const GraphModule& module, const OpTable& ops, const ConstantFolder& folder);

// Folds by running the lowered call, or the program, with the interpreter, up to `max_steps` loop iterations. Without
// `lowerings` calls of programs only.
ConstantFolder InterpreterFolder(const OpTable* ops, const LoweringTable* lowerings, uint64_t max_steps = 1000000);

}  // namespace tilewright::graph
