// Tiles of AMX: C[MR, NR] += A[MR, KR] * B[KR, NR], and C[MR, NR] = 0, all in memory, by the tile registers of x86.
//
// A tile register has up to 16 rows of 64 bytes: 16 x 16 elements of C, 16 rows of 64 bytes along K of A, and B in
// groups of V neighbours along K, [KR / V, NR, V]; V is 2 for bfloat16 and 4 for 8-bit integers. A member takes
// several.
//
//   description     C[i, j] = C[i, j] + f32(A[i, k]) * f32(B[k // V, j, k % V])
//   implementation  T.amx_dot_add(C.access_ptr("rw"), strides of C, A..., B..., row tiles, rows of one, NR, KR)
//
//   description     C[i, j] = 0
//   implementation  T.amx_zero(C.access_ptr("w"), strides of C, row tiles, rows of one, NR)
//
// Rows of C and A follow each other at one distance, or they are T tiles of MR rows each at another one: rows of images
// that are shorter than a tile. ir/interp/amx.h says what the calls mean.
//
// The back end expands the calls into loads of tiles, tdp* instructions and stores, and keeps C in registers from
// the zeros on while a loop adds to it (codegen/llvm/x86/amx.cc); the interpreter computes them.
// target/amx_registers.h says which sizes there are: C is a grid of up to six tiles.
#pragma once

#include <string>

#include "intrin/instructions.h"
#include "intrin/registry.h"

namespace tilewright {

// "amx_{bf16|s8s8|s8u8|u8s8|u8u8}_[{T}x]{MR}x{NR}x{KR}", e.g. "amx_u8s8_32x32x64", "amx_bf16_2x14x32x32". KR is a
// multiple of V, at most 16 * V.
IntrinFamily AmxTileFamily();
// "amx_zero_{f32|s32}_[{T}x]{MR}x{NR}".
IntrinFamily AmxZeroFamily();

// Members' names; without T where `row_tiles` is 0.
std::string AmxTileName(const MachineInstruction& instruction, int row_tiles, int mr, int nr, int kr);
std::string AmxZeroName(const MachineInstruction& instruction, int row_tiles, int mr, int nr);

}  // namespace tilewright
