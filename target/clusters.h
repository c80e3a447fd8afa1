// Clusters of GPUs: blocks of threads that run at the same time on neighbouring cores, so that one copy can fill the
// shared memory of several of them.
#pragma once

#include <cstdint>

#include "target/target.h"

namespace tilewright {

// Blocks of a cluster that every kernel may have; 1 on a target without clusters.
int64_t MaxClusterBlocks(const Target& target);

// The cores that clusters of so many blocks can use at once, where a core has one block.
int CoresForClusters(const Target& target, int64_t blocks);

}  // namespace tilewright
