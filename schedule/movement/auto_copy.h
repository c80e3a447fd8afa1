// Read at, write at: data moves as a whole at one loop.
//
//   for i_0, i_1 in T.grid(4, 16):                    for i_0 in range(4):
//       with T.block("B"):                                with T.block("A_shared"):
//           vi = T.axis.spatial(64, i_0 * 16 + i_1)           v0 = T.axis.spatial(4, i_0)
//           B[vi] = A[vi] + T.float32(1)                      T.reads(A[v0 * 16:v0 * 16 + 16])
//                                                             T.writes(A_shared[v0 * 16:v0 * 16 + 16])
//                                              ->             T.block_attr({"auto_copy": True})
//                                                             for ax0 in range(16):
//                                                                 A_shared[v0 * 16 + ax0] = A[v0 * 16 + ax0]
//                                                         for i_1 in range(16):
//                                                             with T.block("B"):
//                                                                 vi = T.axis.spatial(64, i_0 * 16 + i_1)
//                                                                 B[vi] = A_shared[vi] + T.float32(1)
//
// read_at of loop i_0, block B, buffer 0. The AutoCopy block stands just before the first statement below the loop that
// reads the buffer, and all that read it there read the copy. write_at is its mirror image: the blocks below the loop
// write the cache, and the AutoCopy block takes the result along just behind the last of them. The cache has the shape
// of the buffer; lowering keeps the part that is used. A copy in memory that threads share, below loops over these
// threads, is of what all of them read. Where a tile sticks out of the buffer, a condition in the block's body leaves
// out what lies outside.
//
// Why: one opaque block for each movement of data, which a scheduler of data movement expands on its own (vector width,
// threads, swizzle), while the computation is scheduled around it. It begins by schedule/movement/expand_auto_copy.h.
//
// Conditions: the loop is above the block; the scope holds loops and blocks only; no block below the loop takes the
// buffer's address or matches a part of it; iterations of vectorized loops around the copy copy different elements.
// Reading: what writes the buffer below the loop does so before the first statement that reads it, and writes all that
// is copied in the same iteration.
// Writing: all writers of the buffer are below the loop, and nothing else reads it there; the first of them reads
// nothing that it has not written, and in each iteration of the loop writes all that is copied.
//
// Ids: all survive; the AutoCopy block's and its loops' are born.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct AutoCopyResult {
  Function function;
  uint32_t block = 0;  // the AutoCopy block
};

// `index` counts the regions that the block reads (writes).
Outcome<AutoCopyResult> ReadAt(const Function& function, uint32_t loop, uint32_t block, int index,
                               std::string_view scope);
Outcome<AutoCopyResult> WriteAt(const Function& function, uint32_t loop, uint32_t block, int index,
                                std::string_view scope);

}  // namespace tilewright
