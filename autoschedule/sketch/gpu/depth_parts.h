// Products of few tiles and great depth, divided along K.
//
//   C[i, j] += A[i, k] * B[k, j]    ->    parts[p, i, j] += A[i, p * K / P + k] * B[p * K / P + k, j]      by tiles
//                                         C[i, j] = sum of parts[p, i, j]                                  by threads
//
// Parts are products of their own, one for each block of threads; a second kernel adds up their sums, with what
// consumers make of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// What is tiled: the product whose sums lie in registers, its loops, and the block that stores the sums where another
// one than the product's own does.
struct DividedProduct {
  BlockRv product;
  std::optional<BlockRv> stored;
  ProductLoops loops;
};

// How many parts of whole steps along K there may be.
std::vector<int64_t> PartsOf(int64_t steps);

// One part is the product itself. `parts` divides the depth.
Outcome<DividedProduct> DivideDepth(Schedule& sch, const ProductBlocks& blocks, int64_t parts);

// The kernel that adds up the sums of several parts. Choices: NAME.sum.vector and NAME.sum.threads.
Outcome<std::monostate> AddParts(Schedule& sch, const ProductBlocks& blocks, const std::string& name,
                                 const Target& target, Choices& choices);

}  // namespace tilewright
