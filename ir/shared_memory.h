// Which buffers lie in one memory: several names of it (views), or elements of one buffer that overlap.
//
//   S = T.alloc_buffer((96,), "float32")
//   V = T.decl_buffer((8, 12), "float32", data=S.data)        V shares the memory of S
//   W = T.alloc_buffer((8, 12), "float32", strides=(4, 1))    elements of W overlap
//
// Regions say what is touched of one buffer by its own indices. They say nothing of what another name of the memory
// touches: whoever moves, copies or removes accesses of such a buffer has to look at all of its names.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// Whether an access of the one buffer may touch what an access of the other touches.
bool MayShareMemory(const Buffer& a, const Buffer& b);

// Whether two elements of the buffer with different indices may lie in the same place. Strides that are not constants
// are those of parameters, whose elements lie apart.
bool MayOverlapItself(const Buffer& buffer);

// The memory of a function's buffers. Parts that blocks match (match_buffer) belong to their source and are left out,
// but for those of another type.
class SharedMemory {
 public:
  explicit SharedMemory(const Function& function);
  // The memory of these buffers alone; all memory where there are none.
  SharedMemory(const Function& function, const std::vector<Buffer>& of);

  // Whether any memory has several names, or elements that overlap.
  bool any() const { return any_; }
  // The names of the buffer's memory, the one that owns it first; the buffer alone where it has no other.
  std::vector<Buffer> NamesOf(const Buffer& buffer) const;
  // All names but those of owners.
  std::vector<Buffer> Views() const;
  // Whether the memory has several names or elements of it overlap.
  bool IsShared(const Buffer& buffer) const;

 private:
  std::unordered_map<const VarNode*, std::vector<Buffer>> names_;
  bool any_ = false;
};

}  // namespace tilewright
