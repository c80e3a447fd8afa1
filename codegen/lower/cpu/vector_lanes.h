// What passes over loads of vectors share: which lanes a mask leaves in, and vectors made of parts of others.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tilewright {

// The number of lanes that a predicate leaves in, where they are the first ones: n - a of T.Ramp(a, 1, lanes) < n. Null
// for others.
Expr FirstLanes(const Expr& predicate);

// Lanes of vectors of the same length, which are numbered one vector behind the other. Of more than two vectors pairs
// are put together first.
Expr PickLanes(std::vector<Expr> vectors, std::vector<int> picked);

// The vectors, of the same length and in number a power of two, one behind the other.
Expr JoinVectors(std::vector<Expr> vectors);

}  // namespace tilewright
