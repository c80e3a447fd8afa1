// How long a product of matrices in tiles of blocks of threads takes on a GPU, before there is a program.
//
//   ProductSeconds({.batch = 1, .m = 4096, .n = 4096, .k = 4096, ...}, {.m = 128, .n = 256, .k = 64}, target)
//
// A core multiplies one tile at a time: a step along K takes as long as the slowest of the unit that multiplies and the
// operands' way from L2, or into shared memory where blocks of a cluster bring operands to each other. Tiles take
// waves, as many as there are for each core; each wave waits for the first operands and stores its results, by whole
// sectors or what lanes fill of them. No kernel is faster than main memory gives it its operands.
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
};

struct BlockTile {
  int64_t m = 1, n = 1, k = 1;
  int64_t parts = 1;  // of the depth, whose sums another kernel adds up
  // Blocks of a cluster along M and N: those along M need the same columns' operand and bring it to each other.
  int64_t cluster_m = 1, cluster_n = 1;
};

double ProductSeconds(const ProductShape& shape, const BlockTile& tile, const Target& target);

}  // namespace tilewright
