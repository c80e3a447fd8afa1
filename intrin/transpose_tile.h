// Tiles that are transposed in vector registers: how an operand that lies the wrong way round is packed.
//
// A group is V neighbouring elements of 32 bits together (one f32, two bf16, four bytes), L the number of groups in a
// vector, and W, a power of two up to L, that of groups in a row of A, which B has one below the other:
//
//   B[k // V, i, k % V] = A[i, k]        A: [L, W * V]    B: [W, L, V], or [W, L] where V is 1
//
// The implementation loads W vectors, each from L / W rows, exchanges halves, quarters, ... of these rows between pairs
// of vectors in log2(W) steps, and stores W vectors: about W * log2(W) shuffles, and as many loads as there are rows.
#pragma once

#include <string>
#include <vector>

#include "intrin/registry.h"
#include "target/target.h"

namespace tilewright {

// "transpose_{type}_{L}x{W}", e.g. "transpose_float32_16x16".
IntrinFamily TransposeTileFamily();

struct TransposeTile {
  std::string name;
  int rows = 0;   // L
  int depth = 0;  // W * V
};
// The target's tiles for elements of this type, the widest first.
std::vector<TransposeTile> TransposeTiles(const Target& target, DataType type);

}  // namespace tilewright
