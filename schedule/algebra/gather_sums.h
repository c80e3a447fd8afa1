// gather_sums: what a sum over a window adds at a place is summed once for each place, and gathered.
//
//                                                          Y_sums = T.alloc_buffer((3, 10))
//                                                          for ax0, ax1, ax2 in T.grid(3, 10, 64):
//                                                              with T.block("Y_sums"):
//   for h, r, c in T.grid(8, 3, 64):                               ...
//       with T.block("Y"):                                         Y_sums[v0, v1] = Y_sums[v0, v1]
//           ...                                        ->              + X[v1, v2] * W[v0, v2]
//           Y[vh] = Y[vh] + X[vh + vr, vc] * W[vr, vc]     for h, r in T.grid(8, 3):
//                                                              with T.block("Y"):
//                                                                  ...
//                                                                  Y[vh] = Y[vh] + Y_sums[vr, vh + vr]
//
// for the iterator 1. The buffer's dimensions are the spatial iterators and those of the window that decide about the
// product's other factors, in the block's order, then the dimensions of X that the window moves along.
//
// Why: the sums are a product of matrices, whose operands are read where they lie. A direct form copies each element
// for each of its places in a window, to multiply it by few weights. Here those of all places are factors of one copy.
//
// Conditions of the factor (an if_then_else that gives zero otherwise) decide what is gathered.
//
// Terms are added in another order (docs/numerics.md). The new sums are computed for all places of X; those that no
// window holds are not read.
//
// Conditions:
// * the block is a reduction of products in float32 or float64; its iterators count from 0
// * the window's iterators are reduce ones, not all of them
// * one factor is an element of a buffer, perhaps converted and under conditions
// * some of its dimensions move with the window and with spatial iterators, and not with the other reduce ones
// * its conditions do not use the other reduce iterators, and its other dimensions stay inside without them
// * the buffer is a parameter, or some block writes all of it
// * the block has no predicate; its loops are its iterators, one each, hold nothing else, are serial and carry no
//   annotations
//
// Ids: those of the block and of the loops that stay survive; those of the new block (returned) and its loops are born.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct GatherSumsResult {
  Function function;
  uint32_t block = 0;  // that sums
};

// `window`: positions in the block's iterators.
Outcome<GatherSumsResult> GatherSums(const Function& function, uint32_t block, const std::vector<int64_t>& window);

}  // namespace tilewright
