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
//
// Tiles read masked groups where a depth is not a multiple of the group (3 input channels), flipped ones where bytes
// are signed (autoschedule/normalize/flip_rows.h). A masked load, and what is computed of a group alone, takes a
// shuffle to be spread over a vector, on units that multiply. One instruction loads a whole group, spreads it and
// keeps or flips a part of its bits (codegen/llvm/emit_dot.cc). Masks move only where the whole group surely lies in
// its buffer, both only for groups in register buffers that are always accessed as a whole.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function MaskLate(const Function& function);

}  // namespace tilewright
