// Blocks without a reduction, by vectors along the axis along which they store neighbouring elements.
//
// Without a reduction: the other loops run in parallel, the vector axis as vectors. Where all buffers are accessed in
// their own order, by rows that do not fill vectors, everything is one loop first.
//
//   for i, j: B[i, j] = f(A[i, j])       ->      for ij_0 in T.parallel(...): for ij_1 in T.vectorized(...): ...
//
// A stencil, whose neighbouring instances load the same elements, is computed in small tiles, so that each element is
// loaded less often:
//
//   for i, j: B[i, j] = A[i - 1, j] + A[i + 1, j]      ->      for i_0 in T.parallel(...), j_0:
//                                                                  for i_1 in T.unroll(4): for j_1 in T.vectorized(16)
//
// Vectors of what is stored that go down the rows of what is loaded come in tiles side by side, which are loaded by
// rows and transposed in registers (codegen/lower/cpu/transpose_loads.h):
//
//   for i, j: B[i, j] = A[j, i]      ->      for i_0 in T.parallel(...), j_0:
//                                                for i_1 in T.unroll(16): for j_1 in T.vectorized(16): ...
//
// Lanes whose places are divided by a symbolic size load the same elements of all rows. Their places are found once
// for the rows of one loop:
//
//   for i, j: B[i, j] = A[i, j % n]      ->      for j_0, i: for j_1 in T.vectorized(64): ...
//
// Choices, each after the block's name:
//   NAME.vectors         vectors of one iteration
//   NAME.across          columns of a transposed tile
//   NAME.rows, .planes   sides of a stencil's tile, along the innermost iterator that shares loads and the one before
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Whether the block goes through all its buffers in the order of its loops, whose extents but for the outermost one are
// constant, and its rows do not fill vectors: then the loops become one.
bool IsFlat(const PlainPlan& plan, const BlockNode& block);

// On a refusal the steps before it stay applied.
Outcome<std::monostate> ScheduleElementwise(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                                            Choices& choices);

}  // namespace tilewright
