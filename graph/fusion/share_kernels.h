// ShareKernels: programs that differ in where they read alone (read_offsets.h) become one, which takes the offsets.
//
//   lv3 = R.call_tir(cls.step_3, (h2, x), ...)               lv3 = R.call_tir(cls.step, (h2, x), tir_vars=(3,), ...)
//   lv4 = R.call_tir(cls.step_4, (h3, x), ...)          ->   lv4 = R.call_tir(cls.step, (h3, x), tir_vars=(4,), ...)
//
// A recurrence of 40 steps that a file writes out is then compiled once and not 40 times. Programs with much to do, and
// those of which there are few, stay as they are: what the compiler knows of their addresses is worth more than the
// time of compiling them.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> ShareKernels(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
