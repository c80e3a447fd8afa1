// Clusters of GPUs: blocks of threads that run at the same time on neighbouring cores, so that one copy can fill the
// shared memory of several of them.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace tilewright {

struct ClusterFacts {
  // Blocks of a cluster that every kernel may have (CUDA programming guide).
  int64_t most_blocks = 0;
  // Bytes that the shared memory of a core takes in per cycle, wherever they come from (docs/h200.md).
  double fill_bytes_per_cycle = 0;

  // The part of the cores that clusters of so many blocks can use at once, where a core has one block: cores are
  // neighbours in groups whose sizes are not all multiples of four (docs/h200.md).
  static double UsableCores(int64_t blocks) { return blocks <= 2 ? 1 : 120.0 / 132; }
};

// Null: the target has no clusters.
const ClusterFacts* ClustersOf(const Target& target);

}  // namespace tilewright
