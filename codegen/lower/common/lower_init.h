// Turns the init of blocks into a branch on the first reduction iteration.
//
//   with T.block("C"):                             with T.block("C"):
//       vi, vk = T.axis.remap("SR", [i, k])            vi, vk = T.axis.remap("SR", [i, k])
//       with T.init():                        =>       if vk == 0:
//           C[vi] = 0                                      C[vi] = 0
//       C[vi] = C[vi] + A[vi, vk]                      C[vi] = C[vi] + A[vi, vk]
//
// After decompose_reduction there is no init left and nothing to do. A branch that stays inside of loops is removed by
// loop partitioning, which peels the first iteration.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// Refuses reductions of threads (ir/thread_reductions.h): the branch would let each of them start the sum anew.
absl::StatusOr<Function> LowerInit(const Function& function);

}  // namespace tilewright
