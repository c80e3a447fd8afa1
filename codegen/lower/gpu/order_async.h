// Orders what instructions do asynchronously with what threads do.
//
//   for e in range(64): C[e] = 0.0                          for e in range(64): C[e] = 0.0
//   for k in range(4): T.cuda.wgmma(..., C[0], ...)    =>   T.cuda.wgmma_fence(C.data)
//   ... C[0] ...                                            for k in range(4): T.cuda.wgmma(..., C[0], ...)
//                                                           T.cuda.wgmma_commit()
//                                                           T.cuda.wgmma_wait("0")
//                                                           ... C[0] ...
//
// wgmma is asynchronous: products that follow each other with nothing between them become one group, before which
// registers that threads touched are fenced. The warpgroup waits for it before it does anything but wait for copies and
// start the next products. A release of memory that earlier groups read (bulk_barriers.h) waits for those alone. It
// reads shared memory in another way than threads write it (the async proxy): where threads write shared memory before
// products that may read it, a fence of the proxy stands before each barrier of the block, by which the writes become
// visible.
//
// Bulk stores (bulk_stores.h) read shared memory in that way too. Those that follow each other are one group, and the
// thread that stores waits until it is read: the memory may be written again behind the next barrier, or end with the
// block. Where the kernel also reads the array, it waits until the array is written.
#pragma once

#include "ir/function.h"

namespace tilewright {

// After SelectInstructions, and when barriers of warps that no instruction needs are gone.
Function OrderAsync(const Function& function);

}  // namespace tilewright
