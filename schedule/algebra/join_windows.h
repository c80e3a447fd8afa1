// join_windows: a factor of a sum is read at the same elements for all values of an iterator that shifted it, in a
// window that holds those of all of them; another factor is zero where a value's own window does not reach.
//
//   for h, p, r in T.grid(4, 2, 2):                        for h, p, r in T.grid(4, 2, 3):
//       with T.block("Y"):                                     with T.block("Y"):
//           Y[vh, vp] = Y[vh, vp]                  ->              Y[vh, vp] = Y[vh, vp]
//               + X[vh + vp + vr] * W[vp, vr]                          + X[vh + vr] * T.if_then_else(
//                                                                          vp <= vr and vr < vp + 2, W[vp, vr - vp], 0)
//
// Why: the phases of a transposed convolution (skip_zero_terms) read almost the same input. Where there are few output
// channels, a tile's columns are filled by channels alone in small part; after this step phases are columns as well,
// and the zeros cost less than the padding did.
//
// An input that is infinite or NaN then reaches all outputs whose joined window holds it (docs/numerics.md).
//
// Conditions of a factor (an if_then_else that gives zero otherwise) of the iterator and the reduction alone shorten
// the windows and move to the other factor. Conditions `index < constant`, where the block stores at `index`, are
// dropped where nobody reads what is stored beyond the constant.
//
// Conditions: the block is a reduction of products of two factors, in loops of its own; the iterator is spatial, the
// reduction is one of the block (or -1: windows are one element, the same for all), both from 0 with constant extents;
// one factor depends on the iterator only by what it adds to an index that the reduction steps through one by one; the
// windows leave no gaps between them; dropped conditions guard no access.
//
// All ids survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct JoinWindowsResult {
  Function function;
};

// `iterator` and `reduction`: positions in the block's iterators.
Outcome<JoinWindowsResult> JoinWindows(const Function& function, uint32_t block, int64_t iterator, int64_t reduction);

}  // namespace tilewright
