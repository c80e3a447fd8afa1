// Blocks whose loops are theirs alone, so that both may be made anew together.
//
//   for i, j in T.grid(64, 64):             loops i and j hold nothing but B, and are its iterators
//       with T.block("B"):
//           vi, vj = T.axis.remap("SS", [i, j])
#pragma once

#include <optional>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// What may be lost with the loops: nothing, or annotations and that they are parallel, vectorized or unrolled.
enum class LoopLoss { kNone, kKinds };

// Why the loops above the block at the path's end (up to its scope) are not the block's own: its bindings are not
// loops, one each, or the block has a predicate; or a loop is not an iterator of it, holds something else, is bound to
// a thread, or has a kind or annotations that are not to be lost. Empty when they are.
std::optional<Refusal> WhyNotInOwnLoops(const char* primitive, const Path& path, LoopLoss loss = LoopLoss::kNone);

// What to replace: the outermost of the loops, or the block itself when it has none.
const StmtNode* OutermostOwnLoop(const Path& path);

}  // namespace tilewright
