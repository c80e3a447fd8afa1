// The box that a producer writes while some of the loops around it run: all of it, without gaps.
//
//   for g in range(4):
//       for l in range(4):                    over l, [g * 3, g * 3 + 3) is written: 3 elements, since what the
//           vg = g; vl = l                    predicate leaves out would be the first one of the next g
//           T.where(l < 3)
//           writes B[vg * 3 + vl]
//
// reverse_compute_at lets a consumer run on it.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

// Nothing where there may be gaps. `loops` are those directly around the block, outermost first; the box is in terms of
// the variables around them, whose ranges `analyzer` knows. The predicate is taken to leave out nothing that is written
// but instances outside of the iterators' domains.
std::optional<std::vector<Range>> BoxWithoutGaps(const BlockRealizeNode& producer,
                                                 const std::vector<const ForNode*>& loops, const BufferRegion& write,
                                                 arith::Analyzer* analyzer);

}  // namespace tilewright
