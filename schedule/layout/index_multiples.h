// Which values an index of a block takes.
//
//   vh * 2 + vr * 4    with vh in [0, 5), vr in [0, 3)    9 multiples of 2, of which it is number vh + vr * 2
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// 0, step, 2 * step, ..., without a gap.
struct IndexMultiples {
  int64_t step, count;
  Expr number;  // of the value
};

// Nothing where the index, of iterators that start at 0, takes other values, or that is not known.
std::optional<IndexMultiples> MultiplesIn(const Expr& index, const std::vector<IterVar>& iters);

}  // namespace tilewright
