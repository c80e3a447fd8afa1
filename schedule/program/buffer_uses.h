// The origin of a buffer and its uses: what primitives that replace a buffer have to know.
#pragma once

#include <vector>

#include "ir/function.h"

namespace tilewright {

struct BufferUses {
  // The block that allocates the buffer, or null: it is a parameter, a matched sub-buffer, or declared otherwise.
  const BlockNode* allocated_by = nullptr;
  bool is_param = false;
  // A block that matches a part of it, or null.
  const BlockNode* matched_by = nullptr;
  // A block that takes its address, or null.
  const BlockNode* addressed_by = nullptr;
};
// The buffers that blocks match with a part of it, and those that they match with parts of these.
std::vector<Buffer> PartsOf(const Function& function, const Buffer& buffer);
BufferUses FindBufferUses(const Function& function, const Buffer& buffer);

}  // namespace tilewright
