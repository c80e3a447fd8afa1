// What passes over loads of vectors share: which lanes a mask leaves in, and vectors made of parts of others.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr.h"

namespace tilewright {

// The number of lanes that a predicate leaves in, where they are the first ones: n - a of T.Ramp(a, 1, lanes) < n. Null
// for others.
Expr FirstLanes(const Expr& predicate);

// Neighbouring lanes from `begin` to before `end`, which may lie outside of the vector, where `same` holds for all of
// them; null where it holds in any case.
struct LaneRange {
  Expr begin, end, same;
};

// The lanes that a predicate leaves in, where it compares lanes that rise by a constant with numbers that are the same
// for all lanes, in conjunctions with conditions that are the same for all lanes: the part of a window's row that lies
// in an image.
std::optional<LaneRange> LanesBetween(const Expr& predicate);

// Lanes of vectors of the same length, which are numbered one vector behind the other. Of more than two vectors pairs
// are put together first.
Expr PickLanes(std::vector<Expr> vectors, std::vector<int> picked);

// The vectors, of the same length and in number a power of two, one behind the other.
Expr JoinVectors(std::vector<Expr> vectors);

}  // namespace tilewright
