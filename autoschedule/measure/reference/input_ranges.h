// Which values the integer parameters of a program may have, as far as they say where it reads and writes.
//
//   Y[v] = X[P[v]]                          X of 20 elements        ->    P: 0 to 19
//   for t in range(R[v + 1] - R[v]):
//     y[v] += A[R[v] + t]                   A of 64 elements        ->    R: 0 to 32, sorted
//
// Numbers that are drawn from anything wider would make a program read outside of its arrays, which says nothing of the
// program. A range is wide enough to be interesting and never wider than what is legal: of several parameters that one
// index depends on each is bounded as if the others had all of their values. Parameters that no index, and no loop
// whose variable is an index, depends on have no range.
#pragma once

#include <optional>
#include <vector>

#include "autoschedule/measure/protocol/input_range.h"
#include "ir/function.h"
#include "ir/substitute.h"

namespace tilewright {

// One per parameter. `extents`: values of the function's symbolic extents and scalar parameters, as far as they are
// known.
std::vector<std::optional<InputRange>> InputRanges(const Function& function, const VarMap& extents = {});

}  // namespace tilewright
