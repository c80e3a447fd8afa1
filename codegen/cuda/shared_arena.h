// Offsets in the one region of shared memory that a kernel has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.h"

namespace tilewright::cuda {

// Buffers that live at the same time lie behind each other; those of statements that follow each other share bytes.
class SharedArena {
 public:
  // The offset of `bytes` more; Release(offset) gives back them and what was taken since.
  int64_t Take(int64_t bytes, int64_t alignment) {
    const int64_t offset = RoundUp(top_, alignment);
    top_ = offset + bytes;
    most_ = std::max(most_, top_);
    return offset;
  }
  void Release(int64_t offset) { top_ = offset; }
  int64_t most() const { return most_; }

 private:
  int64_t top_ = 0, most_ = 0;
};

}  // namespace tilewright::cuda
