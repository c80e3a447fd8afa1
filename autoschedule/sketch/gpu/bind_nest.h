// Loops as a user arranged them, on a GPU: what is in no form that another rule knows.
//
//   for i in range(100):             for b in T.thread_binding(4, "blockIdx.x"):
//       block X                ->        for t in T.thread_binding(25, "threadIdx.x"):
//       block Y                              block X, block Y
//
// The outermost loop whose iterations do not depend on each other becomes threads. A nest without such a loop stays as
// it is: one thread runs it.
#pragma once

#include <variant>

#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// `block`: one that the nest holds. A refusal says why the outermost loop is not bound; nothing is applied then.
Outcome<std::monostate> BindNest(Schedule& sch, BlockRv block, const Target& target);

// Whether all that a block accesses lies in global memory: what threads share or own is not to be seen by other
// kernels.
bool HasGlobalMemoryAlone(const BlockNode& block);

}  // namespace tilewright
