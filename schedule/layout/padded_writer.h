// Letting the writer of a buffer fill the padding of the buffer's new layout; a part of transform_layout.
#pragma once

#include "ir/arith/iter_map.h"
#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/layout/layout_rewriter.h"

namespace tilewright {

// The padding of `change.to` (where `inverse.padding` holds) gets `pad_value`. The one block that writes `change.from`
// does so where it stores all of it in loops of its own, which become loops over the new shape; accesses elsewhere are
// unchanged.
//
//   for i in range(14):            for axis0, axis1 in T.grid(4, 4):
//       B[vi] = A[vi]        ->        to[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, pad,
//       A[...])
//
// Elsewhere a block behind the writers does, and the padding of a parameter that is only read is assumed
// (schedule/layout/padding_block.h).
Outcome<Function> WriteWithPadding(const char* primitive, const Function& function, const LayoutChange& change,
                                   const arith::PaddedInverse& inverse, const IndexMap& pad_value);

}  // namespace tilewright
