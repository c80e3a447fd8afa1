// The indices of a copy of what a block accesses: where it is made, and where the block uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/buffer.h"
#include "ir/index_map.h"
#include "ir/stmt.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// The accesses of a block to a buffer, all by the same indices, that are to use a copy.
struct CopiedAccess {
  const char* primitive;  // in whose name is refused
  const BlockNode* block;
  Buffer buffer;
  bool written;
};

struct CopyIndices {
  std::vector<Expr> accessed;  // the indices of the buffer
  std::vector<IterVar> iters;  // the block's iterators in them
  std::vector<Expr> at_copy;   // the copy's indices where it is made
  std::vector<Expr> used_at;   // its indices where the block uses it, of the block's iterators
  std::vector<Expr> shape;     // its extents
};

// Fills the copy's indices and shape: the results of the map over all iterators of the block or, without a map, the
// iterators in the indices of the buffer, in order. Refused where elements that the block tells apart may get the same
// place, or where a result may leave the shape.
std::optional<Refusal> MapIndices(const CopiedAccess& access, const IndexMap& index_map, CopyIndices* copy);

// Dimensions of the buffer that the copy has in place of the iterators in their indices: iterators of the copy, where
// the first of these was.
std::optional<Refusal> KeepDimensions(const CopiedAccess& access, const std::vector<int64_t>& dims, CopyIndices* copy);

}  // namespace tilewright
