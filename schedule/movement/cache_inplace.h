// Cache in place: a block that reads and writes the same buffer works on a copy of it.
//
//   for i in range(16):                             for ax0 in range(16):
//       with T.block("B"):                              with T.block("A_local"):
//           vi = T.axis.spatial(16, i)                      v0 = T.axis.spatial(16, ax0)
//           A[vi] = A[vi] * T.float32(2)     ->             A_local[v0] = A[v0]
//                                                   for i in range(16): ... A_local[vi] = A_local[vi] * T.float32(2)
//                                                   for ax0 in range(16):
//                                                       with T.block("A_local"):
//                                                           v0 = T.axis.spatial(16, ax0)
//                                                           A[v0] = A_local[v0]
//
// The copies stand before and behind the outermost loop of the block; beside the block when it has no iterators, since
// it then uses the same part in each iteration.
//
// Conditions: the block reads and writes the buffer, and neither takes its address nor matches a part of it in its own
// scope; where copies stand around loops, no other block in them uses the buffer; the scope holds loops and blocks
// only. The part that is copied lies in the buffer, and all of it is written before.
//
// Ids: all survive; those of the copies are born.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct CacheInplaceResult {
  Function function;
  uint32_t read_block = 0, write_block = 0;  // the copies into the cache and back
};

Outcome<CacheInplaceResult> CacheInplace(const Function& function, uint32_t block, int read_index,
                                         std::string_view scope);

}  // namespace tilewright
