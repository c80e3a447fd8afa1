// The meaning of amx_dot_add(C, stride, A, stride, B, stride, rows, columns, depth): pointers with strides in elements
// (intrin/amx_tile.h).
#pragma once

#include "ir/data_type.h"
#include "ir/interp/interp.h"

namespace tilewright::interp::internal {

// For operands of these types: bfloat16, or 8-bit integers.
ExternFunction AmxDotAdd(DataType a, DataType b);

}  // namespace tilewright::interp::internal
