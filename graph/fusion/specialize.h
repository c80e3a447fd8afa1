// SpecializePrograms: each call gets a program that knows its constants of one element, without dimensions of extent
// one (graph/fusion/program_form.h). Programs that become equal are one.
//
//   R.call_tir(cls.power, (x, R.const(2, "float32")), ...)   ->   R.call_tir(cls.power_1, (x,), ...), which is x * x
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> SpecializePrograms(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
