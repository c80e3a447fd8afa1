// The regions of buffers that a block touches, from its body.
//
//   for i1, k1 in T.grid(16, 16):            reads A[vi * 16:vi * 16 + 16, vk * 16:vk * 16 + 16]
//       ... A[vi * 16 + i1, vk * 16 + k1] ...
//
// Loops inside of the block are relaxed to their ranges; nested blocks count with their declared regions. Regions are
// boxes: the hull of all accesses of a buffer. Only of a buffer that is written, accesses that lie apart are regions of
// their own, as long as they are few:
//
//   Y[v] = X[v] + X[v + 8]                   reads X[v:v + 9], writes Y[v] and Y[v + 8]
//   Y[v + 8] = X[v] - X[v + 8]
//
// Buffers the block allocates are left out; accesses of a matched sub-buffer count for the buffer it is a part of.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

struct AccessRegions {
  std::vector<BufferRegion> reads, writes;  // in the order of the first access
};

// The regions of everything below `s` in terms of the variables defined outside of it. An element whose address is
// taken counts as its whole buffer, read and written; tvm_access_ptr is not followed (its block declares regions).
AccessRegions DetectRegions(const Stmt& s);
// Those of the block's body and init. A block with an init does not list reads of what it writes: a reduction's
// reading of its own output goes without saying.
AccessRegions DetectRegions(const BlockNode& block);
// The block with those regions of buffers that it does not declare to read, or to write, at all. A buffer whose address
// is taken is used as the block declares, and views that are declared inside of it have no name outside.
Block WithUndeclaredRegions(const Block& block);

// The interval that a range covers when variables in it range over `domains` (whose own bounds mention none of them).
using Domains = std::unordered_map<Var, Range, IdentityHash, IdentityEqual>;
// Nothing when no bound is known.
std::optional<Range> RelaxRange(const Range& range, const Domains& domains);

}  // namespace tilewright
