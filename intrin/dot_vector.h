// One vector of dot products of four bytes, under the names by which TVM knows them.
//
//   C[0:N] += sum over k of A[k] * B[0:N, k]            dot_16x4_vnni, dot_4x4_i8i8s32_sdot
//
// Tiles of several vectors are in intrin/dot_tile.h. TVM's other names (avx512, neon, hdot) are of instructions that
// saturate, or of several that LLVM finds by itself.
#pragma once

#include "intrin/registry.h"

namespace tilewright {

IntrinFamily DotVectorFamily();

}  // namespace tilewright
