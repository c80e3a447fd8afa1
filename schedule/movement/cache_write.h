// cache_write: lets a block write into another scope, and copies the result to where it was written before.
//
// Why: accumulating in registers or in a tile of its own; where the copy back happens is decided afterwards
// (reverse_compute_at).
//
//   for i, j, k in T.grid(64, 64, 64):              for i, j, k in T.grid(64, 64, 64):
//       with T.block("C"):                              with T.block("C"):
//           C[vi, vj] = C[vi, vj] + ...                     C_local[vi, vj] = C_local[vi, vj] + ...
//                                                   for ax0, ax1 in T.grid(64, 64):
//                                                       with T.block("C_local"):
//                                                           v0, v1 = T.axis.remap("SS", [ax0, ax1])
//                                                           C[v0, v1] = C_local[v0, v1]
//
// The copy goes right before the first block behind the writer that reads an output of it, else to the end of the
// scope. Predicates of blocks behind the writer read the cache.
//
// Conditions: the block is not the root; it writes a region with that number, is the only writer of the buffer in its
// scope and does not read the buffer (a block with an init may read what it accumulates, a block of blocks what it
// wrote before); it surely writes every element of the region it declares (verify/regions/sure_writes.h), and of the
// box it writes into, since the copy would overwrite the others, and in each iteration all that is copied in it; nobody
// reads
// the buffer before it below its loops; `consumers` are in the same scope and read elements behind it that it writes;
// where a block concerned takes the buffer's address, the cache has all elements at the buffer's offsets; predicates
// read only what the block writes, and not below its loops unless behind it and of a buffer that the scope allocates;
// the scope holds loops and blocks only. All loops and blocks keep their ids; the copy's loops and block get new ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct CacheWriteResult {
  Function function;
  uint32_t block;  // the copy
};

// `write_index` counts the block's written regions. `consumers`: blocks that are to read the cache instead of the
// buffer.
Outcome<CacheWriteResult> CacheWrite(const Function& function, uint32_t block, int write_index, std::string_view scope,
                                     const std::vector<uint32_t>& consumers = {});

}  // namespace tilewright
