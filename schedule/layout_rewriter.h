// Rewriting every access of a buffer to another layout: the body of transform_layout.
#pragma once

#include <optional>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

struct LayoutChange {
  Buffer from, to;
  IndexMap map;  // indices of `from` to indices of `to`
};

// `region` of `from` as the box of `to` that holds its elements.
std::vector<Range> MapRegion(const LayoutChange& change, const std::vector<Range>& region, arith::Analyzer* analyzer);

// `s` with `to` in place of `from`, in accesses, regions, matches and allocations. Empty when a block matches a part
// that does not keep its shape in the new layout; `culprit` then receives the block's id.
std::optional<Stmt> ChangeLayout(const Stmt& s, const LayoutChange& change, uint32_t* culprit);

}  // namespace tilewright
