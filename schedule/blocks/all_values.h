// Conditions that are evaluated for all values of iterators.
//
//   2 * v <= T.Cast("int32", T.floor(T.Cast("float32", 2 * v) + 0.5)) for v in [0, 8): true, eight times
//
// For what the analyzer does not know, such as numbers that are rounded.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright {

inline constexpr int64_t kMaxValues = 1 << 16;

// Whether the condition is true for all values of the iterators, as the interpreter computes it. False where that is
// not known: a domain that it uses is symbolic, they have more than kMaxValues values together, or the condition uses
// other variables, memory, or functions whose last digit is not the same everywhere.
bool HoldsForAllValues(const Expr& condition, const std::vector<IterVar>& iters);

}  // namespace tilewright
