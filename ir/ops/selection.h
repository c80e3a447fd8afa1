// Selecting elements of lines.
#pragma once

#include "ir/builder.h"

namespace tilewright::ops {

// The first elements of each line of x along `axis`, and their positions (int64).
struct Selected {
  Buffer values, positions;
};

// The `count` (at least 1, at most the line's extent) largest or least elements, in their order: of equal ones the
// lower position comes first, and NaN counts as larger than all numbers. A pass over the line that inserts what comes
// before the last so far: for a line in random order about n + count^2 * log(n / count) steps.
Selected TopK(FunctionBuilder& f, const Buffer& x, int axis, const Expr& count, bool largest);

}  // namespace tilewright::ops
