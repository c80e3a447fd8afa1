#include "schedule/reduction_block.h"

#include <algorithm>

namespace tilewright {

std::vector<BufferRegion> ReadsOfUpdate(const BlockNode& block) {
  std::vector<BufferRegion> reads;
  for (const BufferRegion& write : block.writes) {
    const bool listed = std::any_of(block.reads.begin(), block.reads.end(),
                                    [&](const BufferRegion& read) { return read.buffer.same_as(write.buffer); });
    if (!listed) reads.push_back(write);
  }
  reads.insert(reads.end(), block.reads.begin(), block.reads.end());
  return reads;
}

}  // namespace tilewright
