// reindex: gives a block a copy of a buffer whose layout is the block's iterators.
//
// Why: afterwards the block accesses the buffer at its plain iterators, whatever the index arithmetic was (im2col);
// maps from iterators to the dimensions of a tensor instruction then apply to the buffer as well.
//
//   Y[vh] = Y[vh] + P[vh * 2 + vr] * W[vr]            for ax0, ax1 in T.grid(15, 3):
//                                                         with T.block("P_reindex_reindex"):
//                                              ->             P_reindex[v0, v1] = P[v0 * 2 + v1]
//                                                     ...
//                                                     Y[vh] = Y[vh] + P_reindex[vh, vr] * W[vr]
//
// Indices are simplified first: an iterator that does not change an index, such as one of one value beside another, has
// no dimension. `skip_simplify` gives every iterator that an index names a dimension, whatever its extent; rules that
// lay out operands by the iterators of a block rely on that.
//
// Dimensions of a buffer that is read can be kept: the copy has them in place of the iterators in their indices. Of a
// convolution whose rows are kept, each element is copied once for each place in a window's row, not in the window.
//
//   reindex("Y", ("read", 0), kept_dims=[0])    of    Y[vh, vw] = Y[vh, vw] + P[vh + vr, vw + vs] * W[vr, vs]
//
//   P_reindex[v0, v1, v2] = P[v0, v1 + v2]            Y[vh, vw] = Y[vh, vw] + P_reindex[vh + vr, vw, vs] * W[vr, vs]
//
// reindex_cache_read and reindex_cache_write give the copy another memory and a layout of the caller's choice: an index
// map from the block's iterators to the copy's indices. Copy and block are named after the memory ("P_shared"), the
// copy's loops and iterators after the block's.
//
//   reindex_cache_read("Y", 0, "shared", lambda vh, vr: (vr, vh)):    P_shared[vr, vh] = P[vh * 2 + vr]
//
// The copy of what is read goes right before the outermost loop of the block, that of what is written (block
// "Y_reindex") right behind it. Its dimensions are the iterators in the block's indices, in the order of the block.
//
// Conditions: the block is not the root and contains no blocks; it accesses the buffer by loads and stores only, all at
// the same indices, which load nothing; the scope holds loops and blocks only, and none of the block's loops contains
// another block that accesses the buffer the other way.
// Reading: the block does not write the buffer, and the indices provably stay inside of it for all values of the
// iterators (conditions in the body do not guard the copy).
// A kept dimension: its index is linear in iterators of constant extents that no other index uses, and takes 0 and the
// following multiples of a number without a gap. The copy has these: P_reindex[v0, ...] = P[v0 * 2, ...] where a stride
// and a dilation are 2.
// Writing: no other block of the scope writes the buffer, the block does not read it (but a reduction its own output),
// all of its instances run (or, with an index map, the copy's nest runs the same ones: it has the block's loops and
// conditions), the indices use spatial iterators only and are injective.
// With an index map: it takes as many indices as the block has iterators, is affine, its results depend on the same
// iterators as the buffer's indices, and give each place to one element only.
// All ids survive; the copy's loops and block are born.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/program/buffer_selector.h"

namespace tilewright {

struct ReindexResult {
  Function function;
  uint32_t block;  // the copy
};

Outcome<ReindexResult> Reindex(const Function& function, uint32_t block, const BufferSelector& buffer,
                               const std::vector<int64_t>& kept = {}, bool skip_simplify = false);
Outcome<ReindexResult> ReindexCacheRead(const Function& function, uint32_t block, int index, std::string_view scope,
                                        const IndexMap& index_map);
Outcome<ReindexResult> ReindexCacheWrite(const Function& function, uint32_t block, int index, std::string_view scope,
                                         const IndexMap& index_map);

}  // namespace tilewright
