// Rewriting every access of a buffer to another layout: the body of transform_layout.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct LayoutChange {
  Buffer from, to;
  IndexMap map;  // indices of `from` to indices of `to`
};

// `region` of `from` as the box of `to` that holds its elements.
std::vector<Range> MapRegion(const LayoutChange& change, const std::vector<Range>& region, arith::Analyzer* analyzer);

// The function with `to` in place of `from`, in accesses, regions, matches, allocations and parameters. A refusal when
// a block matches a part that does not keep its shape in the new layout.
Outcome<Function> ChangeLayout(const char* primitive, const Function& function, const LayoutChange& change);

}  // namespace tilewright
