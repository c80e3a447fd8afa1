// Which bulk copies fill the shared memory of several blocks of a cluster.
//
//   for cx in T.thread_binding(2, "clusterCtaIdx.x"):
//       copy A[cx * 64 : cx * 64 + 64, k] to S          each block copies its own
//       copy B[k, 0:128] to T                           block cx copies half cx of the rows, into the T of both
//
// A copy whose place in both arrays does not depend on the index of a block within its cluster brings all blocks the
// same. All blocks have to copy, and close groups of copies, alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct Multicast {
  int64_t blocks = 1;  // that a copy fills
  Expr share;          // which part of what they need this block copies: 0 to blocks - 1
  Expr mask;           // a bit for each of them, by its rank in the cluster
};

// `cluster`: the loops over the blocks of a cluster, of constant extents. `place`: what the place of the copy depends
// on. Nothing where each block needs something else.
std::optional<Multicast> PlanMulticast(const std::vector<const ForNode*>& cluster, const std::vector<Expr>& place);

// Whether the blocks of each cluster execute the pipelines of `kernel` alike: none of the loops and branches around
// asynchronous copies and the ends of their groups depends on which block it is, or on memory.
bool BlocksCopyAlike(const Stmt& kernel);

}  // namespace tilewright
