// Makes asynchronous copies of what the asynchronous stages of a pipeline copy from global to shared memory.
//
//   with T.attr(0, "async_copy", 1):
//       S[tx * 8:tx * 8 + 8] = A[k * 64 + tx * 8:k * 64 + tx * 8 + 8]     =>     cp.async of 16 bytes
//
// A copy has 4, 8 or 16 bytes, a multiple of which both addresses must be proven to be; where a value is chosen between
// an element and zero, the copy reads nothing in the second case and writes zeros. What is no such copy stays a load
// and a store. The result is an instruction with the store as its body (codegen/lower/common/instruction_attributes.h).
#pragma once

#include "ir/function.h"

namespace tilewright {

// Expects flat buffers and vectors as wide as one access.
Function MakeAsyncCopies(const Function& function);

}  // namespace tilewright
