// Contractions whose groups of neighbours would be padded: the first layers of networks, with 1 or 3 input channels.
//
//   C[x, o] += A[x * 2 + k, c] * W[k, c, o]        with k in [0, 7), c in [0, 3), groups of 4: 7 * 4 products
//
//   C[x, o] += A[x * 2 + r // 3, r % 3] * W[r // 3, r % 3, o]      with r in [0, 21): 24 products
//
// The elements that k and c run over follow each other in memory, so groups of them are read as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Two reduce iterators of a contraction, neighbours that run through the row operand as one.
struct FusibleDepth {
  size_t inner;          // the position of the second one
  int64_t inner_extent;  // its extent
  bool pays;             // one of them saves so much padding that it is preferred
};

// Those that save padding in groups of `group` when they are one.
std::optional<FusibleDepth> FindFusibleDepth(const BlockRealizeNode& realize, int group, const Target& target);

// Makes them one. Whether it did.
bool FuseDepth(Schedule& sch, BlockRv block, const FusibleDepth& depth);

}  // namespace tilewright
