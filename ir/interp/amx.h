// The meaning of
//
//   amx_dot_add(C, stride of tiles, of rows, A, stride of tiles, of rows, B, stride of rows, tiles, rows, columns,
//   depth) amx_zero(C, stride of tiles, of rows, tiles, rows, columns)
//
// pointers with strides in elements; C and A are `tiles` times `rows` rows (intrin/amx_tile.h).
#pragma once

#include "ir/data_type.h"
#include "ir/interp/interp.h"

namespace tilewright::interp::internal {

// For operands of these types: bfloat16, or 8-bit integers.
ExternFunction AmxDotAdd(DataType a, DataType b);
// For sums in 32 bits.
ExternFunction AmxZero();

}  // namespace tilewright::interp::internal
