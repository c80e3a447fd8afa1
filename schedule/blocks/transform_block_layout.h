// transform_block_layout: other iterators for a block, and loops over them.
//
// Why: fusing and splitting iterators brings a block into the shape of a tensor instruction (a convolution becomes a
// matrix multiplication).
//
//   with lambda n, h, w, c: (n * 1024 + h * 32 + w, c)
//
//   for n, h, w, c in T.grid(1, 32, 32, 8):           for ax0, ax1 in T.grid(1024, 8):
//       with T.block("P"):                                with T.block("P"):
//           vn, vh, vw, vc = ...               ->             v0, v1 = T.axis.remap("SS", [ax0, ax1])
//           P[vn, vh, vw, vc] = ...                           P[0, v0 // 32, v0 % 32, v1] = ...
//
// The new loops are serial, whatever the old ones were, without annotations.
//
// Conditions: the block is not the root and alone in its loops, which are not bound to threads and are its iterators,
// one each; it has no predicate; the map takes its iterators and is bijective over their domains; a result uses
// iterators of one kind only (iterators with a single value fit any kind; a result without iterators is spatial).
//
// The block keeps its id; its loops die, one new loop per result is born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct TransformBlockLayoutResult {
  Function function;
};

Outcome<TransformBlockLayoutResult> TransformBlockLayout(const Function& function, uint32_t block, const IndexMap& map);

}  // namespace tilewright
