// Tiles that are transposed in vector registers: how an operand that lies the wrong way round is packed.
//
// A group is V neighbouring elements of 32 bits together (one f32, two bf16, four bytes), L the number of groups in a
// vector. B has the L groups of a row of A one below the other:
//
//   B[k // V, i, k % V] = A[i, k]        A: [L, L * V]    B: [L, L, V], or [L, L] where V is 1
//
// The implementation loads L vectors, exchanges halves, quarters, ... between pairs of them in log2(L) steps, and
// stores L vectors: about L * log2(L) shuffles for L * L groups.
#pragma once

#include <optional>
#include <string>

#include "intrin/registry.h"
#include "ir/target.h"

namespace tilewright {

// "transpose_{type}_{L}x{L}", e.g. "transpose_float32_16x16".
IntrinFamily TransposeTileFamily();

struct TransposeTile {
  std::string name;
  int side = 0;   // L
  int group = 0;  // V
};
// The target's tile for elements of this type, if it has any.
std::optional<TransposeTile> FindTransposeTile(const Target& target, DataType type);

}  // namespace tilewright
