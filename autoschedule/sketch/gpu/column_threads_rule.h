// Schedules on a GPU for reductions of few results along other dimensions than the contiguous one: sums over the first
// axis, averages of whole images with channels last, a vector times a matrix.
//
//   for j, k: S[j] += A[k, j]              for b in blockIdx.x, x in threadIdx.x:             column j = b * 32 + x
//   for j: B[j] = S[j] / 100         ->        for k0, y in threadIdx.y: S_local += A[k0 * 8 + y, j]
//                                              B[j] = S_local / 100                 elementwise consumers computed here
//
// Neighbouring threads read neighbouring elements; those that share a column add up parts of it. Sums are added in
// another order than the program's (docs/numerics.md).
//
// Choices, each after the block's name:
//   NAME.threads           columns of a block
//   NAME.column_threads    threads that share a column
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// `block`: a reduction with spatial iterators. On a refusal of a primitive or "column_threads_rule" the steps before it
// stay applied.
Outcome<std::monostate> ScheduleColumnThreads(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

}  // namespace tilewright
