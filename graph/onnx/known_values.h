// Runs a program on elements that are expressions.
//
// Models compute shapes from shapes: Shape -> Gather -> Mul -> Concat -> Reshape. The elements of such small tensors
// are expressions over symbolic extents. No operator needs a rule of its own for them: its program is executed,
// statement by statement, and what it stores are expressions again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"
#include "ir/substitute.h"

namespace tilewright::graph {

// The elements (int64, row-major; 0 and 1 for bool) of the buffers that follow `inputs` among the parameters. Nothing
// where the program does anything else than integer arithmetic on them, where an index or a loop's extent depends on
// unknown values, or after `max_steps` stores. `scalars` are the values of the program's variables.
std::optional<std::vector<std::vector<Expr>>> RunOnExpressions(const tilewright::Function& program,
                                                               const std::vector<std::vector<Expr>>& inputs,
                                                               const VarMap& scalars, int64_t max_steps = 20000);

}  // namespace tilewright::graph
