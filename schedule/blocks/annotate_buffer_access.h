// Annotate buffer access: the region that a block declares is given, where it cannot be found from the body.
//
//   with T.block("B"):                                with T.block("B"):
//       T.reads(X[0:64])                                  T.reads(X[vi * 2:vi * 2 + 4])
//       T.writes(B[vi])                       ->          T.writes(B[vi])
//       B[vi] = X[vi * 2 + K[vi] % 4]                     T.block_attr({"explicit_read_region": [0]})
//                                                         B[vi] = X[vi * 2 + K[vi] % 4]
//
// for read buffer 0 and `lambda vi: [(vi * 2, vi * 2 + 4)]`: the first index and the end of each dimension; an index by
// itself stands for a range of one.
//
// Why: code outside of the block looks at the region alone; a smaller one lets producers be computed in parts.
//
// Conditions: the map takes as many parameters as the block has iterators, and gives a range for each dimension. Where
// the body's accesses are known, they lie inside of the region, and writes are the whole of it, since others count on
// every element that a block says it writes. That is proven, or found by evaluating both for all values of the
// iterators (floor(2 * v + 0.5) is 2 * v). An access whose place depends on memory is taken at the caller's word
// (interp finds an access outside of the region).
//
// Ids: all survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/program/buffer_selector.h"

namespace tilewright {

// The results of `ranges` are begin and end of each dimension in turn, or one index for each dimension.
Outcome<Function> AnnotateBufferAccess(const Function& function, uint32_t block, BufferSelector::Access access,
                                       int index, const IndexMap& ranges);

}  // namespace tilewright
