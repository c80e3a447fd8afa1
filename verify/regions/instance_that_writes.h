// Which instance of a block writes what another one reads.
//
//   B writes [v // 2, v % 2], C reads [u // 2, u % 2]: the instance v = u of B
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/region.h"
#include "ir/stmt.h"
#include "ir/substitute.h"

namespace tilewright {

// The values of the iterators with which a writer writes what is read; nothing when the regions have another form.
// Iterators that the region does not depend on are left out.
std::optional<VarMap> InstanceThatWrites(const std::vector<IterVar>& iterators, const arith::Region& written,
                                         const arith::Region& read);

// The region without iterators that have one value.
arith::Region WithoutUnits(const std::vector<IterVar>& iterators, const BufferRegion& region,
                           arith::Analyzer* analyzer);

// Whether the writer runs with these values, for all iterations that the analyzer knows of: its loops from `first` on
// have them, or their first value where no iterator says one, and its condition holds there. Exact where no box holds
// what is written: under k <= i, or in a loop over k below i + 1. Iterators without a value may have any.
bool RunsWith(const VarMap& values, const BlockRealizeNode& writer, const std::vector<const ForNode*>& loops,
              size_t first, const Expr& condition, arith::Analyzer* analyzer);

}  // namespace tilewright
