// winograd: a sum over a window of products becomes fewer products of transformed operands, of which the outputs of a
// tile are sums (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray, Fast Algorithms for
// Convolutional Neural Networks, 2016).
//
//   for h, o, r, c in T.grid(8, 16, 3, 16):
//       with T.block("Y"):
//           Y[vh, vo] = Y[vh, vo] + X[vh + vr, vc] * W[vr, vc, vo]
//
// for the iterator h, the reduction r and tiles of 2 outputs, which take 4 products instead of 6:
//
//   for x, t, c in T.grid(4, 4, 16):         Y_tiles[x, t, c] = X[t * 2 + x, c]
//   for x, t, c in T.grid(4, 4, 16):         Y_input[x, t, c] = Y_tiles[2, t, c] - Y_tiles[0, t, c] where x is 0, ...
//   for x, c, o in T.grid(4, 16, 16):        Y_kernel[x, c, o] = -W[0, c, o] where x is 0, ...
//   for x, t, o, c in T.grid(4, 4, 16, 16):
//       with T.block("Y"):
//           Y_products[vx, vt, vo] = Y_products[vx, vt, vo] + Y_input[vx, vt, vc] * Y_kernel[vx, vc, vo]
//   for h, o in T.grid(8, 16):
//       Y[h, o] = Y_products[0, h // 2, o] + Y_products[1, h // 2, o] + ... where h % 2 is 0, ...
//
// Why: m outputs of a window of r take m + r - 1 products instead of m * r; a convolution's are multiplied faster.
// The coefficients are those of Toom and Cook for the points 0, 1, -1, 2, -2, 1/2, -1/2 and infinity.
//
// Results differ by rounding, the more the larger the tile, and what one input does to the rounding reaches the outputs
// of its tile (docs/numerics.md).
//
// Dilated windows, X[vh + vr * d], have a tile for each of d phases: a dimension behind t. Where tiles do not divide
// the output, inputs behind the last one count as zero.
//
// Conditions: the block is a sum, from zero, of products of two elements of two buffers, all of one floating-point type
// of 32 or 64 bits, in loops of its own; the iterator is spatial, the reduction is one of the block and of a constant
// extent, both from 0; the iterator is one index of what the block stores to, and in no other; one factor has one index
// that is the iterator plus a multiple of the reduction plus a constant, the other has one that is the reduction, and
// no other index uses them; of the operands' other dimensions the block reads all. A tile has 2 outputs or more, and
// takes 8 products at most.
//
// Ids: all survive but those of the block's loops; those of the new blocks (returned) and loops are born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct WinogradResult {
  Function function;
  // Blocks: that collects what each tile is computed from, and those that transform it, the kernel and the output.
  uint32_t tiles = 0, input = 0, kernel = 0, output = 0;
};

// `iterator` and `reduction`: positions in the block's iterators; `outputs`: of a tile.
Outcome<WinogradResult> Winograd(const Function& function, uint32_t block, int64_t iterator, int64_t reduction,
                                 int64_t outputs);

}  // namespace tilewright
