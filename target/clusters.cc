#include "target/clusters.h"

namespace tilewright {

const ClusterFacts* ClustersOf(const Target& target) {
  static constexpr ClusterFacts kFacts = {.most_blocks = 8, .fill_bytes_per_cycle = 60};
  return target.is_gpu() && target.has("cluster") ? &kFacts : nullptr;
}

}  // namespace tilewright
