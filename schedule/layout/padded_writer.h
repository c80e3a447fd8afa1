// Letting the writer of a buffer fill the padding of the buffer's new layout; a part of transform_layout.
#pragma once

#include "ir/arith/iter_map.h"
#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/layout/layout_rewriter.h"

namespace tilewright {

// The one block that writes `change.from`, in loops over the new shape, storing `change.to` with `pad_value` where
// `inverse.padding` holds. The other accesses of the buffer are unchanged.
//
//   for i in range(14):            for axis0, axis1 in T.grid(4, 4):
//       B[vi] = A[vi]        ->        to[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 3 and 2 <= v_axis1, pad,
//       A[...])
Outcome<Function> WriteWithPadding(const char* primitive, const Function& function, const LayoutChange& change,
                                   const arith::PaddedInverse& inverse, const IndexMap& pad_value);

}  // namespace tilewright
