// Instances of a block, one after the other, where its loops are few and their extents constants.
//
//   for a, b in T.grid(2, 2):
//       with T.block("C"):                         [0], [2], [1]: values of the iterator in the order of the program
//           vi = T.axis.spatial(3, b * 2 + a)
//           T.where(b * 2 + a < 3)
//
// Rules about quasi-affine maps hold for all extents, but they are not complete; counting is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/arith/domain.h"
#include "ir/stmt.h"

namespace tilewright {

using InstanceValues = std::vector<int64_t>;

inline constexpr int64_t kMostInstances = 1 << 13;

// Values of `bindings` in all iterations of `loops` (outermost first) for which `predicate` (null: true) holds. Nothing
// where there are more iterations than kMostInstances, or where something else than the loops decides.
std::optional<std::vector<InstanceValues>> InstancesInOrder(const arith::Domain& loops, const Expr& predicate,
                                                            const std::vector<Expr>& bindings);

}  // namespace tilewright
