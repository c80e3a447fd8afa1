// Tags of loops that are bound to what a GPU runs at the same time.
//
//   blockIdx.x, .y, .z         blocks of threads; where there are clusters, clusters of them
//   clusterCtaIdx.x, .y, .z    the blocks of a cluster, which run at the same time on neighbouring cores
//   threadIdx.x, .y, .z        threads of a block
//   vthread, cthread           what one thread runs
#pragma once

#include <string_view>

namespace tilewright {

inline bool IsClusterTag(std::string_view tag) { return tag.starts_with("clusterCtaIdx."); }
// Whether the iterations of the loop are run by different blocks of threads.
inline bool IsBlockTag(std::string_view tag) { return tag.starts_with("blockIdx") || IsClusterTag(tag); }

}  // namespace tilewright
