// Operands of narrow types, which a chain's tiles multiply in float32: each block of keys is converted once, by
// vectors, for all rows of a block that read it.
//
//   for block of rows, block of keys:                          for block of rows, block of keys:
//       P[row, key] += Q[row, d] * T.float32(K[key, d])   ->       K_wide[key, d] = T.float32(K[key, d])
//                                                                  P[row, key] += Q[row, d] * K_wide[key, d]
#pragma once

#include <optional>
#include <variant>

#include "schedule/recorder/schedule.h"

namespace tilewright {

// Lets the sum read a copy in float32 of what it reads at that variable, one of its iterators. Nothing where that has
// 32 bits already.
Outcome<std::optional<BlockRv>> StageWide(Schedule& sch, BlockRv sum, const Var& at);

// Computes the copy in the loop, by vectors of `width` elements along what lies next to each other.
Outcome<std::monostate> ConvertInLoop(Schedule& sch, BlockRv copy, LoopRv loop, int64_t width);

}  // namespace tilewright
