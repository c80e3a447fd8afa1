// Schedules on a GPU for blocks that reduce along the contiguous dimension and for chains of such blocks with what lies
// between them: softmax, row norm, layer norm, sums over the last axis, products with a vector.
//
//   for i, k: M[i] = max(M[i], A[i, k])           for b in blockIdx.x, r in threadIdx.y:              row i = b * 4 + r
//   for i, j: E[i, j] = exp(A[i, j] - M[i])           for k0, t in threadIdx.x: a[0:4] = A[i, ...]; M = max(M, a[0:4])
//   for i, k: S[i] += E[i, k]                 ->      for k0, t: a[0:4] = A[i, ...]; S += exp(a[0:4] - M)
//   for i, j: O[i, j] = E[i, j] / S[i]                for j0, t: O[i, ...] = exp(A[i, ...] - M) / S
//
// The threads of a row add up parts of it, and every one of them gets the result: M and S are memory of threads. What
// lies between the stages is computed again by each that reads it, or kept in shared memory. Rows that fit stay in
// registers where threads share them equally: A is read once, and exp computed once for each element, since each thread
// has the same elements in all stages. Sums are added in another order than the program's (docs/numerics.md).
//
// Choices, each after the name of the chain's last block:
//   NAME.row_threads     threads that share a row
//   NAME.rows            rows of a block of threads
//   NAME.kept            "nothing"; "shared": elements between the stages are kept in shared memory; "registers": those
//                        of costly values, and what the first stage and others read, are kept there
//   STAGE.row_vector     elements of a thread at once; the same for all stages where registers keep them
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Elements along the contiguous dimension that the reduction combines for each row, symbolic extents taken as 1;
// nothing when it does not reduce along a contiguous dimension.
std::optional<int64_t> RowLength(const BlockNode& block);

// `chain`: from RowChain (autoschedule/program/row_chain.h); a reduction alone where it has no rows. On a refusal of
// "row_threads_rule" or a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleRowThreads(Schedule& sch, std::vector<BlockRv> chain, const Target& target,
                                           Choices& choices);

}  // namespace tilewright
