// Products of 64 rows by a warpgroup (128 lanes), operands in shared memory, sums in registers (sm_90a):
//
//   wgmma_sync_64x128x16_f16f16f32[_trans_a][_trans][_dyn]     C += A * B; 16 is 32 bytes of K
//   wgmma_sync_64x128x16_f16f16f32_registers[_trans][_dyn]     the same with A in registers, where its sums would be
//   wgmma_fill_64x128_{f32|f16|s32}                            sums become zeros
//   wgmma_store_64x128_f32_{global|shared|shared_dyn}          sums go to memory
//   wgmma_stmatrix_64x16_{f16|bf16}_{shared|shared_dyn}        what was made of sums goes to shared memory
//
// _registers, stmatrix: A is in scope wgmma.matrix_a, 16 bits an element; each lane holds what it would hold of sums of
// 16 columns, so that sums become operands where they are, or results of 16 bits. _trans: B is stored by its columns,
// [n, k]. _trans_a: A is stored by its columns, [k, m]. Operands of 8 bits have K along their rows: _trans, and not
// _trans_a. Where the elements of operands have to lie in shared memory: a layout that set_layout gives to the buffer
// (codegen/lower/gpu/operand_descriptors.h).
//
// Types and columns are those of the rows of families "wgmma" and "stmatrix" in the instruction table. The
// implementation is the part of each of the 128 lanes as a program, under an attribute that says which instruction does
// it.
#pragma once

#include "intrin/registry.h"

namespace tilewright {

IntrinFamily WgmmaFamily();

}  // namespace tilewright
