// Whether a block's init and body touch one dimension of a buffer inside of a range only, each access judged by itself
// under the loops and conditions around it. A box around all accesses (DetectRegions) knows less: it is the whole of
// [-8, 24) here.
//
//   for q in range(ends[b + 1] - ends[b]):
//       for d in range(16):
//           Y[ends[b] + q, d] = T.if_then_else(d < 8, X[ends[b] + q, d + 8], X[ends[b] + q, d - 8])
//
//   reads X in dimension 0: [ends[b], ends[b + 1]), in dimension 1: [0, 16)
//
// Loops and conditions that depend on memory which the block changes say nothing, nor do names of values
// (verify/rewrite/inline_names.h puts these in their places).
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/stmt.h"

namespace tilewright {

enum class Touch { kRead, kWrite };

struct TouchedPlaces {
  bool inside = true;      // every access is proven to lie in the range
  bool looked_up = false;  // memory decides on the place of an access
};

// `analyzer` knows the block's iterators. `range` must not depend on memory that the block changes.
TouchedPlaces FindTouchedPlaces(const BlockNode& block, const Buffer& buffer, size_t dimension, Touch touch,
                                const Range& range, arith::Analyzer* analyzer);

}  // namespace tilewright
