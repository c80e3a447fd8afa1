// Buffers of which two dimensions are the digits of one number, with the number in their place.
//
//   B: ((n + 1) // 2, 6, 2)                        B: ((n + 1) // 2 * 2, 6)
//   B[v // 2, j, v % 2] = A[v, j]          ->      B[v, j] = A[v, j]
//   reads B[a, j, b]                               reads B[a * 2 + b, j]
//
// No box is what [v // 2, v % 2] are for all v below an odd n; v itself is one. The elements are the same ones, so that
// what is written and read of the one program is so of the other. (That b is below 2 is the business of
// verify/memory/access_bounds.h.)
#pragma once

#include <optional>
#include <unordered_set>

#include "ir/function.h"

namespace tilewright {

struct JoinedDimensions {
  Function function;
  std::unordered_set<const VarNode*> joined;  // data of the buffers that have changed
};

// Looks at the buffers with these data. Nothing where none of them is accessed so, or where an access cannot be said of
// the number.
std::optional<JoinedDimensions> JoinDimensions(const Function& function, std::unordered_set<const VarNode*> buffers);

}  // namespace tilewright
