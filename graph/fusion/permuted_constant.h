// A constant with its dimensions in another order.
#pragma once

#include "graph/fusion/program_form.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

// Dimension d of the result is dimension order[d] of the constant.
Constant PermutedConstant(const ConstantNode& constant, const Permutation& order);

}  // namespace tilewright::graph
