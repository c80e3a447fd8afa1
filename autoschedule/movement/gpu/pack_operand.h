// Operands that no engine and no asynchronous copy can bring into shared memory: a kernel of its own writes one as a
// matrix with the depth innermost, before the product.
//
//   B_reindex[n, k] = B[k, n]     a thread reads a few neighbours of n at once, or stores a few of k at once
//
// Choices, after the copy's name: NAME.vector elements that a thread stores at once, NAME.threads of a block.
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// `copy`: a block that copies elements into a matrix, of a batch perhaps, zeros outside of what it reads.
Outcome<std::monostate> PackOperand(Schedule& sch, BlockRv copy, const Target& target, Choices& choices);

}  // namespace tilewright
