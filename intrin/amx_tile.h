// Tiles of AMX: C[MR, NR] += A[MR, KR] * B[KR, NR], all in memory, by the tile registers of x86.
//
// A tile register has up to 16 rows of 64 bytes: 16 x 16 elements of C, 16 rows of 64 bytes along K of A, and B in
// groups of V neighbours along K, [KR / V, NR, V]; V is 2 for bfloat16 and 4 for 8-bit integers.
//
//   description     C[i, j] = C[i, j] + f32(A[i, k]) * f32(B[k // V, j, k % V])
//   implementation  T.amx_dot_add(C.access_ptr("rw"), stride of C, A..., B..., MR, NR, KR)
//
// The back end expands the call into loads of three tiles, one tdp* instruction and a store; the interpreter computes
// it. A program must have been allowed by its operating system to use the registers before it runs such code (on Linux
// by arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)).
#pragma once

#include "intrin/registry.h"

namespace tilewright {

// "amx_{bf16|s8s8|s8u8|u8s8|u8u8}_{MR}x{NR}x{KR}", e.g. "amx_u8s8_16x16x64". MR, NR and KR / V are at most 16.
IntrinFamily AmxTileFamily();

}  // namespace tilewright
