// Programs that replace a part of an operand, written so that only the part is touched.
//
//   y[b, h, j, d] = if 0 <= j - past[b] < n: fresh[b, j - past[b], h, d] else x[b, h, j, d]
//
//   for i in range(n): y[b, h, past[b] + i, d] = fresh[b, i, h, d]       where y is the memory of x
//
// A cache that grows by a few keys a step is such a program. Where the caller gives x and y the same memory, the second
// form computes what the first one does, and copies nothing.
#pragma once

#include <optional>

#include "ir/function.h"

namespace tilewright::graph {

// `read` and `written` are numbers of parameters, of the same extents in a call. The result has all parameters of the
// program but `read`. Nothing where another element of x is read, or what is replaced is not an interval of one
// dimension.
std::optional<tilewright::Function> InPlaceForm(const tilewright::Function& program, size_t read, size_t written);

}  // namespace tilewright::graph
