// Storage align: rows of a buffer start at places that are offset from multiples of a factor.
//
//   with T.block("A_shared"):                    with T.block("A_shared"):
//       vi, vj = ...                   ->            T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
//       A_shared[vi, vj] = A[vi, vj]                 A_shared[vi, vj] = A[vi, vj]
//
// for write buffer 0, axis 0, factor 32 and offset 8: the stride of axis 0 becomes the least number of elements, not
// less than the buffer needs, that is 8 more than a multiple of 32. The annotation is on the block that writes; what
// it says about the same buffer and axis before is replaced.
//
// Why: rows then lie in different memory banks, or begin at vector boundaries.
//
// Conditions: a block allocates the buffer; the axis is one of the buffer's, negative ones counting from the end; the
// factor is positive, and the offset not negative.
//
// Ids: all survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> StorageAlign(const Function& function, uint32_t block, int write_index, int axis, int64_t factor,
                               int64_t offset);

}  // namespace tilewright
