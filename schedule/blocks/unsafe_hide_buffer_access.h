// Unsafe hide buffer access: a block no longer declares some of what it reads or writes.
//
//   with T.block("B"):                           with T.block("B"):
//       T.reads(indptr[vi], A[0:16])                 T.reads(A[0:16])
//       T.writes(B[vi])                  ->          T.writes(B[vi])
//
// with "read" and [0].
//
// Unsafe, since nothing keeps the block behind the writers of what it hides; interp finds the undeclared access.
//
// Why: buffers that never change, such as the index arrays of sparse formats, stay out of the way of transformations.
//
// Conditions: the numbers are those of regions, each given once.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"
#include "schedule/program/buffer_selector.h"

namespace tilewright {

Outcome<Function> UnsafeHideBufferAccess(const Function& function, uint32_t block, BufferSelector::Access access,
                                         const std::vector<int64_t>& indices);

}  // namespace tilewright
