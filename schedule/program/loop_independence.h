// Whether the iterations of loops may change their order, or run at once.
//
//   for i in range(64):
//       with T.block("X"): T[i] = A[i]           # fine in any order: what Y uses, X wrote in the same iteration
//       with T.block("Y"): B[i] = T[i] * 2
//
//   for i in range(64):
//       with T.block("X"): T[i] = A[i]           # not: iteration i uses what iteration i - 1 wrote
//       with T.block("Y"): B[i] = T[i - 1] * 2
//
//   for i in range(64):
//       with T.block("X"): A[i + 1] = A[i] + 1   # not: instance i uses what instance i - 1 of the same block wrote
#pragma once

#include <optional>
#include <span>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// Why the iterations of the nest from `outermost` to `innermost` (each loop holding nothing but the next) may not
// change their order: a block below has bindings that are not affine (unless only this nest sees what it writes, and it
// reduces nothing) or an iterator that is neither spatial nor reduce, or a block uses what another wrote in another
// iteration. Nothing when they may.
std::optional<Refusal> WhyIterationsAreOrdered(const char* primitive, const Function& function,
                                               const ForNode& outermost, const ForNode& innermost);

// Why the iterations of a loop may not run at once, each with its own copy of the buffers that only this loop uses (so
// that bindings of blocks which write nothing else need not be affine). Vectors have copies only of what is allocated
// below the loop. Instances of one block that depend on each other (verify/structure/instance_order.h) must run in one
// iteration. `reductions_too`: reduce iterators of blocks with an init may depend on the loop (threads of a block can
// combine their results).
std::optional<Refusal> WhyIterationsAreNotParallel(const char* primitive, const Function& function, const ForNode& loop,
                                                   ForKind kind, bool reductions_too);

// The same of the vectorized ones of `loops`, after something was put below them: they are found by their ids.
std::optional<Refusal> WhyVectorsAreNotParallel(const char* primitive, const Function& function,
                                                std::span<const ForNode* const> loops);

// Why something that stores to the block's outputs cannot be put before `loop`, which is above it: another block below
// the loop writes one of them, or uses elements that the iteration of the loop has not written before.
//
//   for i in range(64):                                        T[i] = 0 may be done for all i ahead of the loop,
//       for k in range(16):                                    because Y uses what its iteration computed
//           with T.block("X"): (init T[i] = 0) T[i] += A[i, k]
//       with T.block("Y"): B[i] = T[i] * 2
std::optional<Refusal> WhyOthersUseOutputs(const char* primitive, const Function& function,
                                           const BlockRealizeNode& realize, const ForNode& loop);

}  // namespace tilewright
