// How long a product of matrices in tiles of blocks of threads takes on a GPU, before there is a program.
//
//   ProductSeconds({.batch = 1, .m = 4096, .n = 4096, .k = 4096, ...}, {.m = 128, .n = 256, .k = 64}, target)
//
// A core multiplies one tile at a time: a step along K takes as long as the slowest of the unit that multiplies and the
// operands' way from L2, or into shared memory where blocks of a cluster bring operands to each other. Where warps load
// fragments, shared memory is read once for each warp in a row or column of them, and warps fewer than the core has
// schedulers leave units idle. Tiles take
// waves, as many as there are for each core; each wave waits for the first operands and stores its results, by whole
// sectors or what lanes fill of them. Blocks that stay for several tiles wait for the first operands and store the last
// results once: in between they load the operands of the next tile while they store the results of one. No kernel is
// faster than main memory gives it its operands.
#pragma once

#include <cstdint>

#include "ir/data_type.h"
#include "target/target.h"

namespace tilewright {

struct ProductShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  DataType factor;  // of the operands
  int output_bytes = 4;
  // Whether results go through shared memory, from where whole sectors are stored; else each lane stores its own, and
  // narrow ones leave sectors in part empty.
  bool staged = false;
  // Elements of the rows' operand in memory where windows of it overlap; 0: a matrix of m x k for each of the batch.
  int64_t row_elements = 0;
};

struct BlockTile {
  int64_t m = 1, n = 1, k = 1;
  int64_t parts = 1;  // of the depth, whose sums another kernel adds up
  // Blocks of a cluster along M and N: those along M need the same columns' operand and bring it to each other.
  int64_t cluster_m = 1, cluster_n = 1;
  int64_t turns = 1;  // tiles of a block, one after the other
  // Warps that share the tile along M and N, where each loads its part of the operands into registers; 0: instructions
  // read shared memory by themselves.
  int64_t warps_m = 0, warps_n = 0;
};

double ProductSeconds(const ProductShape& shape, const BlockTile& tile, const Target& target);

}  // namespace tilewright
