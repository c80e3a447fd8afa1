#include "target/clusters.h"

#include <algorithm>

namespace tilewright {

int64_t MaxClusterBlocks(const Target& target) {
  return target.has("cluster") ? target.gpu_part().max_cluster_blocks : 1;
}

int CoresForClusters(const Target& target, int64_t blocks) {
  return blocks <= 2 ? target.cores : std::min(target.cores, target.gpu_part().cluster_cores);
}

}  // namespace tilewright
