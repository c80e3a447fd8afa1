// FMA outer-product tiles: C[MR, NR] += A[MR, KR] * B[KR, NR] in f32 or f16, C in vector registers.
//
// A is read by broadcasting one element at a time, B by whole vectors. The tile needs MR * NR / lanes registers for C,
// NR / lanes for a row of B and one for the broadcast; a member that does not fit into the register file is refused,
// because it would spill in the innermost loop.
#pragma once

#include <string>

#include "intrin/instructions.h"
#include "intrin/registry.h"

namespace tilewright {

// "fma_{f32|f16}_{MR}x{NR}x{KR}_{avx2|avx512|neon|fullfp16}", e.g. "fma_f32_12x32x1_avx512". NR is a multiple of the
// vector's lanes.
IntrinFamily FmaTileFamily();
std::string FmaTileName(const MachineInstruction& instruction, int mr, int nr, int kr);

}  // namespace tilewright
