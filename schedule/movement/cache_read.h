// cache_read: copies a buffer that a block reads into another scope, and lets readers read the copy.
//
// Why: the copy may lie in faster memory, in another layout, or be written ahead of time; where it is filled is decided
// afterwards (compute_at).
//
//   for i, j, k in T.grid(64, 64, 64):              for ax0, ax1 in T.grid(64, 64):
//       with T.block("C"):                              with T.block("A_shared"):
//           ... A[vi, vk] ...                               v0, v1 = T.axis.remap("SS", [ax0, ax1])
//                                                           A_shared[v0, v1] = A[v0, v1]
//                                                   for i, j, k in T.grid(64, 64, 64):
//                                                       with T.block("C"):
//                                                           ... A_shared[vi, vk] ...
//
// Predicates and bindings still read the buffer: they are not among what a block declares to read.
//
// The copy goes where all data is there: at the beginning of the scope when no block of the scope writes the buffer,
// else right before the first consumer that follows the writer. It holds the whole buffer (for a nested scope: the part
// that the scope's block reads), or what the writer writes. The part may begin at a place from memory (W[E[vn], 0:16]).
//
// Conditions: the block is not the root; it reads a region with that number and does not write the buffer; at most one
// block of the scope writes the buffer, it precedes the consumers, and what they read is provably inside of what it
// writes; consumers are in the block's scope and read the buffer; where they take its address, the copy has all
// elements at the buffer's offsets; the part that a nested scope reads is inside of the buffer, known or because the
// scope reads all of it without a condition; the scope holds loops and blocks only; of what iterations copy, each has
// written all. A writer that reads the buffer too keeps doing so. All loops and blocks keep their ids; the copy's loops
// and block get new ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct CacheReadResult {
  Function function;
  uint32_t block;  // the copy
};

// `read_index` counts the block's read regions. `consumers`: the blocks that are to read the copy; empty: all readers
// of the buffer in the scope but its writer.
Outcome<CacheReadResult> CacheRead(const Function& function, uint32_t block, int read_index, std::string_view scope,
                                   const std::vector<uint32_t>& consumers = {});

}  // namespace tilewright
