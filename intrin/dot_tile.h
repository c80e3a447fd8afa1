// Tiles of dot products for narrow types: C[MR, NR] += A[MR, KR] * B[KR, NR], C in vector registers.
//
// The instructions add to each 32-bit element of a vector the products of a group of V neighbours along K: pairs of
// bfloat16 (vdpbf16ps, bfdot) or 16-bit integers (vpdpwssd), quads of 8-bit integers (vpdpbusd, vpdpbssd, sdot, udot,
// usdot). A, row-major with neighbours along K next to each
// other, is read by broadcasting one group at a time; B is packed in groups, [KR / V, NR, V]:
//
//   description   C[i, j] = C[i, j] + f32(A[i, k]) * f32(B[k // V, j, k % V])
//   instruction   C[i, 0:16] = dot_add(C[i, 0:16], broadcast A[i, 2k : 2k + 2], B[k, 0:16, 0:2])
//
// Integers are exact: no instruction used here saturates. What vdpbf16ps and bfdot do with rounding and denormals is
// said in docs/numerics.md. The tile needs as many registers as an FMA tile (intrin/fma_tile.h).
//
// vpdpbusd wants unsigned by signed, sdot signed by signed. The other is lowered to it with the sign bit of A flipped
// (codegen/lower/cpu/signed_dots.h): one more instruction per vector of B, a register for each vector of a row and one
// subtraction per vector of C, after the loops over the depth where they do nothing else.
//
// Matrix instructions (smmla, ummla, usmmla, bfmmla) add to a vector of two rows and two columns of C the products of
// two groups of A and two of B, which lie side by side:
//
//   instruction   C[i / 2, j / 2, 0:4] = dot_add(C[i / 2, j / 2, 0:4], A[i : i + 2, 8k : 8k + 8], B[k, j : j + 2, 0:8])
//
// C's tile is [MR / 2, NR / 2, 4]: element (i, j) lies at i % 2 * 2 + j % 2 of its vector.
#pragma once

#include <string>

#include "intrin/instructions.h"
#include "intrin/registry.h"

namespace tilewright {

// The deepest members, in groups.
inline constexpr int kMostDotGroups = 32;

// "dot_{types}_{MR}x{NR}x{KR}_{feature}", e.g. "dot_bf16_12x32x2_avx512bf16". NR is a multiple of the vector's
// lanes, KR of the group, kMostDotGroups of them at most.
IntrinFamily DotTileFamily();
// "mmla_{types}_{MR}x{NR}x{KR}_{feature}", e.g. "mmla_s8s8_8x12x8_i8mm". MR and NR are even.
IntrinFamily MmlaTileFamily();
// The family that the instruction names.
std::string DotTileName(const MachineInstruction& instruction, int mr, int nr, int kr);

}  // namespace tilewright
