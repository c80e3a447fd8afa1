// Functions shared by passes over vector loads: the lanes that a mask keeps, and vectors combined from others.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr.h"

namespace tilewright {

// The number of lanes that a predicate keeps if these are the first ones: n - a of T.Ramp(a, 1, lanes) < n. Null for
// other predicates.
Expr FirstLanes(const Expr& predicate);

// Lanes [begin, end), bounds that may lie outside of the vector, under the condition `same` of all lanes; null if it
// always holds.
struct LaneRange {
  Expr begin, end, same;
};

// The lanes that a predicate keeps, such as the part of a window's row that lies in an image. The predicate is a
// conjunction of comparisons of a ramp with uniform numbers and of uniform conditions.
std::optional<LaneRange> LanesBetween(const Expr& predicate);

// Picks lanes of vectors of the same length, numbered across all vectors in order. More than two vectors are combined
// in pairs first.
Expr PickLanes(std::vector<Expr> vectors, std::vector<int> picked);

// Concatenates vectors of the same length, whose number is a power of two.
Expr JoinVectors(std::vector<Expr> vectors);

}  // namespace tilewright
