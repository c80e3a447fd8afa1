// The init of a reduction runs before anything is added.
//
//   for a, b in T.grid(2, 4):
//       with T.block("C"):
//           vi = T.axis.spatial(1, 0)
//           vk = T.axis.reduce(5, b * 2 + a - 3)       refused: b = 2 comes first, with vk = 1; vk = 0, the instance
//           T.where(3 <= b * 2 + a)                    with the init, follows at a = 1, b = 1
//
// The instance whose reduce iterators all have their least values runs the init; for each element it must come first.
// It does when these are the values of the reduce loops' first iterations, and no spatial iterator uses these loops; or
// when the loops count up to what the iterators are made of, from outer to inner ones (digits of one number); or when
// counting few constant instances shows it (verify/structure/instances.h). The predicate may not leave this instance
// out where it lets others run: T.where(3 <= k) leaves a sum over k without its init.
#pragma once

#include <vector>

#include "verify/structure/diagnostic.h"

namespace tilewright {

// Whether the condition holds for lesser values of the loops, when it holds for some: k * 4 + j < n does.
bool HoldsBelow(const Expr& condition, const std::vector<const ForNode*>& loops);

// `loops`: those around the block in its scope, outermost first. True for blocks without an init.
bool InitRunsFirst(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops);

Diagnostics CheckInitOrder(const Function& function);

}  // namespace tilewright
