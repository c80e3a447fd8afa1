// Chains of reductions along the contiguous dimension: softmax, norms, sums over the last axis, products with a vector.
//
//   for i, k: M[i] = max(M[i], A[i, k])
//   for i, j: E[i, j] = exp(A[i, j] - M[i])          rows: i; lanes: k, j
//   for i, k: S[i] += E[i, k]
//   for i, j: O[i, j] = E[i, j] / S[i]
//
// The spatial iterators of the reductions are the rows; what each block of the chain computes of a row needs no other
// row.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

// The reduce iterator that runs along rows; -1 where there is none. Windows that begin a few elements apart are no
// rows: vectors of results are computed of them.
int LaneIterator(const BlockNode& block);

// The lane iterator after the reduce iterators that continue it: those along which every load moves by as much as along
// the whole iterator inside of it, so that together they run through memory as one.
std::vector<int> LaneIterators(const BlockNode& block, int lanes);

// Whether the last row iterator continues the lanes in all that is loaded, so that together they run through memory as
// one.
bool RowsContinueLanes(const BlockNode& block, const std::vector<int>& lane_iterators);

std::vector<IterVar> SpatialIterators(const BlockNode& block);

// The blocks of the chain that the reduction `block` belongs to, in the order of the program, itself included: those
// connected with it, by what one makes or by what both read, whose outer iterators are its spatial ones. Empty when it
// does not reduce along a contiguous dimension.
std::vector<uint32_t> RowChain(const BlockScope& scope, uint32_t block);
// The same of a schedule, as far as the chain's blocks are among `blocks`.
std::vector<BlockRv> RowChain(const Schedule& sch, const BlockScope& scope, uint32_t block,
                              std::span<const BlockRv> blocks);

// How many row iterators the blocks of a chain have; 0 where no block runs along rows.
size_t RowCount(const Schedule& sch, std::span<const BlockRv> chain);

// Brings the blocks of a chain behind the first one into `row`, the innermost of the loops over its rows, in whatever
// order they meet: what reads or makes what is there joins it, and where nothing does, the rows of a reduction that
// meets the others later become one loop with these.
//
//   for i, k: P[i] += A[i, k] * A[i, k]          for i:
//   for i, k: Q[i] += B[i, k] * B[i, k]    ->        P[i] of A[i, k]; Q[i] of B[i, k]; O[i] = P[i] / Q[i]
//   for i: O[i] = P[i] / Q[i]
//
// `rows`: how many loops over rows there are, or 0 where loops of others cannot become one with these. Gives the
// innermost loop over rows; those around it are others too where it is.
Outcome<LoopRv> PlaceInRows(Schedule& sch, std::span<const BlockRv> blocks, LoopRv row, size_t rows);

}  // namespace tilewright
