// Lets a producer of bulk copies load weights before it waits for the kernel in front.
//
//   expect(full[groups % 2], 64)                            first = groups
//   load(A, full[groups % 2])                               expect(full[groups % 2], 32)
//   expect(full[groups % 2], 32)                            load(W, full[groups % 2])
//   load(W, full[groups % 2])                               groups = groups + 1
//   arrive(full[groups % 2])                                ...                            # the other stages
//   groups = groups + 1                        =>           groups = first
//   ...                            # the other stages       grid_dependency_wait()
//                                                           expect(full[groups % 2], 64)
//                                                           load(A, full[groups % 2])
//                                                           arrive(full[groups % 2])
//                                                           groups = groups + 1
//                                                           ...
//
// Weights are constant in all calls, so they may come while the kernel in front still computes what A holds. The phase
// of a barrier does not end before the arrival, which follows. No more groups move than the ring has stages: their
// memory is free from the start.
#pragma once

#include <functional>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// How many of the statements from the front are the copies of a ring's first stages, of which some load constants; 0
// where there are none. `is_constant`: of the data of an array; `stages`: barriers of an array of them, 0 where that is
// not known.
struct EarlyWeights {
  size_t count = 0;
  Stmt before, after;  // the wait for the kernel in front
};
EarlyWeights SplitEarlyWeights(const std::vector<Stmt>& stmts, const std::function<bool(const VarNode*)>& is_constant,
                               const std::function<int64_t(const VarNode*)>& stages);

}  // namespace tilewright
