// What a block reads, or writes, by its body, which may be less than its signature declares.
//
//   with T.block("C"):
//       vi = T.axis.spatial(n, i)
//       T.reads(B[0:n]); T.writes(C[vi])       declared wider by annotate_buffer_access
//       C[vi] = B[vi]                          touched: B[vi]
//
// Data flow is judged by signatures. Only where that refuses a block, what its body touches is looked at: elements that
// nobody reads need not be written, and cannot race.
#pragma once

#include <optional>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// Whether the statement calls a function that may touch memory.
bool CallsOutside(const Stmt& s);

// Nothing where only the signature says what is read, because the block calls a function outside. Reads of what a block
// with an init writes are left out (ir/regions.h).
std::optional<std::vector<BufferRegion>> TouchedReads(const BlockNode& block);
std::optional<std::vector<BufferRegion>> TouchedWrites(const BlockNode& block);

}  // namespace tilewright
