// Products of 16 x 16 x 16 tiles by a warp, by the names that schedules for GPUs use:
//
//   wmma_load_16x16x16_f16_a_shared[_dyn]     a tile of A from shared memory (or global) into a fragment
//   wmma_load_16x16x16_f16_b_trans_shared     a tile of B that is stored by its columns; a_trans: of A
//   wmma_fill_16x16x16_f32                    a fragment of zeros
//   wmma_sync_16x16x16_f16f16f32[_trans_a][_trans]    C += A * B; _trans: B is stored by its columns, _trans_a: A is
//   wmma_store_16x16x16_f32_shared[_dyn]      a fragment of sums back, also to global memory
//   wmma_load_16x16x32_s8_a_shared[_dyn], wmma_load_16x16x32_s8_b_trans_shared, wmma_sync_16x16x32_s8s8s32_trans
//                                             operands of bytes, of the larger instruction's depth; 8-bit floats too
//   wmma_load_..._shared[_dyn]_swizzled       from a tile that has a layout which keeps 16 bytes together (set_layout)
//
// And products of 16 x 8 x 8, whose operands come by 32 rows of A or 32 columns of B:
//
//   mma_load_m16n8k8_f16_{A|B}_shared_dyn, mma_init_m16n8k8_f32, mma_sync_m16n8k8_f16f16f32
//   mma_store_m16n8k8_f32_global              into dynamic shared memory, whatever this name of TVM says
//
// Types: f16 and bf16 with f32 sums, f16 with f16 sums, s8 and u8 with s32 sums. The implementation is made of
// ldmatrix and mma.sync (sm_80): each lane's part as a program, under an attribute that says which instruction does it
// (codegen/lower/gpu/select_instructions.h). A fragment is memory of the warp with the tile's own indices.
#pragma once

#include "intrin/registry.h"

namespace tilewright {

IntrinFamily WmmaFamily();
IntrinFamily M16n8k8Family();

}  // namespace tilewright
