// Masks groups of narrow elements, and flips their bits, where they are used instead of where they are loaded.
//
//   A_reg[0:4] = Select(lane < 3, A.vload(i : i + 4, predicate=lane < 3), 0)
//   C_reg[0:16] = dot_add(C_reg[0:16], Broadcast(A_reg[0:4], 16), W[0:64])
//                                                    =>
//   A_reg[0:4] = A[i : i + 4]
//   C_reg[0:16] = dot_add(C_reg[0:16], Broadcast(Select(lane < 3, A_reg[0:4], 0), 16), W[0:64])
//
//   A_reg[0:4] = A[i : i + 4] ^ 128                  =>     A_reg[0:4] = A[i : i + 4]
//   ... Broadcast(A_reg[0:4], 16) ...                       ... Broadcast(A_reg[0:4] ^ 128, 16) ...
// Tiles read masked groups if K is not a multiple of the group (3 input channels), and flipped groups if bytes are
// signed (autoschedule/normalize/flip_rows.h). A masked load or a changed group needs a shuffle to be broadcast, which
// occupies a unit that multiplies. One instruction loads a whole group, broadcasts it and keeps or flips some of its
// bits (codegen/llvm/emit_dot.cc). A mask moves only if the whole group is proven to lie in its buffer. Masks and flips
// move only for register buffers whose groups are always accessed as a whole.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function MaskLate(const Function& function);

}  // namespace tilewright
