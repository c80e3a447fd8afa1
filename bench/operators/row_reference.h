// The right results of the operators that work on rows: softmax, norm, layer norm, GELU.
//
// Errors of softmax and norm are measured in the value itself, those of layer norm in the sum of its absolute terms,
// those of GELU in its argument.
// The sum over a row has the bound of any f32 sum; on top come a few roundings of the scalar operations, 12 of them
// allowed to the exponential function.
#pragma once

#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "bench/operators/reference.h"

namespace tilewright::bench {

Reference ComputeRowReference(const RowProblem& problem, const Operands& operands);

}  // namespace tilewright::bench
