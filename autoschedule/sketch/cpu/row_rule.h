// Schedules for blocks that reduce along the contiguous dimension and for chains of such blocks with what lies between
// them: softmax, row norm, layer norm, sums over the last axis, products with a vector.
//
//   for i, k: M[i] = max(M[i], A[i, k])              for i in T.parallel(...):
//   for i, j: E[i, j] = exp(A[i, j] - M[i])              M_rf[0:64] by vectors over k; M = of M_rf, 64 -> 16 -> 4 -> 1
//   for i, k: S[i] += E[i, k]                    ->      E[0:N] by vectors
//   for i, j: O[i, j] = E[i, j] / S[i]                   S_rf[0:64] by vectors over k; S = of S_rf
//                                                        O[0:N] by vectors
// so that a row stays in L1 from one stage to the next. Reductions by lanes are `rfactor`s: they add in another order
// than the program (docs/numerics.md).
//
// Sums over other dimensions too, of rows that continue each other, come first: of a plane of rows at once.
//
//   for n, c, h, w: B[c, h] += A[n, c, h, w]     ->  for c in T.parallel(...):
//                                                        P[h, w] over n by vectors; B[c, h] of P by vectors over w
//
// Reductions that meet in what reads them have one loop over rows, too (PlaceInRows in
// autoschedule/program/row_chain.h).
//
// Choices, each after the block's name:
//   NAME.lanes           partial results; a reduction of less than 4 elements has none
//   NAME.rows            rows that are summed at once, where all of them read one operand: a product with a vector
//   NAME.row_vectors     vectors of one iteration of an elementwise stage
//   NAME.parallel        1: rows run in parallel
//   NAME.stream, NAME.prefetch   of autoschedule/movement/cpu/bypass_caches.h
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Splits a reduction with fewer results than cores into equal parallel parts. The returned block reduces each part, and
// `block` combines the results. Nothing if the block is not such a reduction or has little work.
std::optional<BlockRv> SplitAmongCores(Schedule& sch, BlockRv block, const Target& target);

// Whether the block's rows are too short to fill a vector, such as the taps of a phase of a transposed convolution.
// Vectors along the results are better then.
bool IsShorterThanLanes(const BlockNode& block);

// `chain`: from RowChain (autoschedule/program/row_chain.h). On a refusal of "row_rule" or a primitive the steps before
// it stay applied.
Outcome<std::monostate> ScheduleRows(Schedule& sch, const std::vector<BlockRv>& chain, const Target& target,
                                     Choices& choices);

}  // namespace tilewright
