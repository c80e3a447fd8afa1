// Reading what graph/ir/printer.h prints, and what people and the peer write in its dialect.
//
//   OpTable ops; AddBasicOps(&ops);
//   absl::StatusOr<GraphModule> module = ParseGraphModule(text, "model.py", ops);
//
// Types of bindings may be left out: they are inferred, and where they are given they must agree. Arguments may be
// nested calls. Errors carry file, line and column.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"

namespace tilewright::graph {

// `constants` are what metadata["relax.expr.Constant"][i] stands for (GraphText::constants).
absl::StatusOr<GraphModule> ParseGraphModule(std::string_view text, std::string_view file, const OpTable& ops,
                                             const std::vector<Constant>& constants = {});

}  // namespace tilewright::graph
