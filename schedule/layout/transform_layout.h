// transform_layout: stores a buffer in another layout, everywhere.
//
// Why: the instruction or the cache wants the elements it uses together to lie together.
//
//   with lambda i, j: (i // 16, j // 16, i % 16, j % 16)
//
//   A2 = T.alloc_buffer((64, 64))                     A2 = T.alloc_buffer((4, 4, 16, 16))
//   ... A2[vi, vj] = ...                       ->     ... A2[vi // 16, vj // 16, vi % 16, vj % 16] = ...
//   T.reads(A2[vo * 16:vo * 16 + 16, 0:16])           T.reads(A2[vo, 0, 0:16, 0:16])
//
// Loops and blocks stay as they are; only shapes, indices and regions change. A parameter changes its shape: callers
// must pass it in the new layout.
//
// If the map rounds the shape up, elements appear that no index maps to. They need `pad_value`, a map from the new
// indices to a value; the one block that writes the buffer then writes all of the new shape, in loops over it:
//
//   for i in range(14):                               for axis0, axis1 in T.grid(4, 4):
//       with T.block("B"):              i: (i // 4,       with T.block("B"):
//           B[vi] = A[vi]               ->  i % 4)            v_axis0, v_axis1 = ...
//                                                             B[v_axis0, v_axis1] = T.if_then_else(
//                                                                 14 <= v_axis0 * 4 + v_axis1, 0, A[...])
//
// Conditions: the map takes as many indices as the buffer has dimensions and is injective over its shape; the buffer is
// no matched sub-buffer and has neither strides nor a layout of its own; its address is not taken; where a block
// matches a part of it, that part keeps its shape. Without pad_value: the map does not pad, unless the caller leaves
// the padding unwritten; the program reads none of it. With it: pad_value has one result of the buffer's type and loads
// nothing; one block writes the buffer, it stands alone in its loops, each binding is a loop, and it stores into the
// buffer once (and once in its init), at distinct spatial iterators that run over the whole shape.
//
// All ids survive; of a block whose loops are rewritten the loops die and new ones are born.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/program/buffer_selector.h"

namespace tilewright {

struct TransformLayoutResult {
  Function function;
};

enum class Padding { kRefused, kUnwritten };  // without a pad_value

// `pad_value` may be null.
Outcome<TransformLayoutResult> TransformLayout(const Function& function, uint32_t block, const BufferSelector& buffer,
                                               const IndexMap& map, const IndexMap& pad_value = IndexMap(),
                                               Padding padding = Padding::kRefused);

}  // namespace tilewright
