// InlineChains: an elementwise value that one elementwise block over the same elements reads once is computed there.
//
//   for i, j in grid(8, 16): lv[i, j] = tanh(X[i, j])
//   for i, j in grid(8, 16): Y[i, j] = abs(lv[i, j])     ->   for i, j in grid(8, 16): Y[i, j] = abs(tanh(X[i, j]))
//
// Rules would do the same as their first step (autoschedule/normalize/inline_rule.h), by a primitive for each block
// that looks at the whole function: long chains of small blocks take them a time that grows with the square. Here each
// block is looked at once. Values that are read twice, by two blocks, elsewhere than at the same place, or that have
// grown long, are left to the rules.
#pragma once

#include "graph/ir/value.h"

namespace tilewright::graph {

// Programs that are not regular (program_form.h) come back as they are.
PrimFunc InlineChains(const PrimFunc& program);

}  // namespace tilewright::graph
