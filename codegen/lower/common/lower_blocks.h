// Removes blocks, which by now have neither iterators nor allocations nor sub-buffers.
//
//   with T.block("B"):
//       T.where(i * 12 + j < n)         =>   if i * 12 + j < n:
//       B[i * 12 + j] = 0                        B[i * 12 + j] = 0
#pragma once

#include "ir/function.h"

namespace tilewright {

Function LowerBlocks(const Function& function);

}  // namespace tilewright
