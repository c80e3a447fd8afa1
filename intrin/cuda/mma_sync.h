// Products of 16 x 16 tiles by a warp whose operands lie in memory of the warp (32 lanes, elements of each), by the
// names that schedules for GPUs use:
//
//   mma_ldmatrix_{f16|bf16}_{a|b}[_trans][_dyn], mma_ldmatrix_{i8|u8|e4m3|e5m2|tf32}_{a|b|b_trans}[_dyn]
//                                                                                       shared memory to the lanes
//   mma_f16f16{f32|f16}[_trans_a][_trans_b], mma_bf16bf16f32..., mma_{i8|u8}{i8|u8}i32[_trans_b],
//   mma_{e4m3|e5m2}{e4m3|e5m2}f32[_trans_b], mma_tf32tf32f32[_trans_b]                  C += A * B
//   mma_fill_16x16_{f32|f16|i32}, mma_store_16x16_{f32|f16|i32}_{global|shared_dyn[_simple]}_
//
// Types and depths are those of the rows of families "mma" and "ldmatrix" in the instruction table. Products of tf32
// take the upper 19 bits of floats: the program says so, T.reinterpret("float32", T.reinterpret("uint32", A[...]) &
// 4294959104).
//
// _trans: the operand is stored by its columns. The descriptions spread a tile over lanes as their users do: element
// (r, c) lies in lane 4 (r % 8) + c % 8 / 2 whichever operand it is; what the registers hold in truth is known to
// ldmatrix and mma.sync alone, which nothing comes between. ldmatrix transposes 16 bits alone: lanes load another B
// that is stored by its rows element by element, into the registers of mma.sync, and there the description names these.
#pragma once

#include "intrin/registry.h"

namespace tilewright {

IntrinFamily MmaFamily();

}  // namespace tilewright
