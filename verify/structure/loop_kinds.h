// Loops that run their iterations at the same time must have independent iterations.
//
//   for k in T.parallel(16):               refused: vk is a reduce iterator, so the iterations update the same C[vi]
//       with T.block("C"):
//           vi, vk = T.axis.remap("SR", [i, k])
//
// Parallel and vectorized loops, and loops bound to blockIdx or vthread, may not feed reduce iterators. (Nothing is
// assumed of opaque iterators: what the iterations of a loop that feeds one touch says alone whether they are
// independent, verify/threads/races.h. So strips of a rolling buffer may run at once, each with its own.) A loop
// bound to threadIdx may feed reduce iterators of a block with init too (a cross-thread reduction into memory that the
// threads share, verify/threads/thread_reductions.h; its updates commute, and no loop over threads is inside of that
// block). The loop must be the
// direct or indirect parent of blocks, or lie inside of a block over stores whose indices it makes distinct.
//
// Threads do not meet in parallel and vectorized loops that they run: neither at a barrier, nor at a loop over the same
// threads again, which stands between two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/structure/diagnostic.h"

namespace tilewright {

// Whether loops of the kind run their iterations at the same time.
bool IsConcurrent(ForKind kind);

Diagnostics CheckLoopKinds(const Function& function);

// The same question before a loop is given a kind: why `loop` may not become `kind` (bound to `thread_tag`), or
// nothing. `blocks` are the blocks below it, not those nested in them.
std::optional<std::string> WhyNotConcurrent(const ForNode& loop, ForKind kind, const std::string& thread_tag,
                                            const std::vector<const BlockRealizeNode*>& blocks);
// Whether threads of the loops `above` meet inside of `s`, which they run.
bool HoldsBarrier(const std::vector<const ForNode*>& above, const Stmt& s);

}  // namespace tilewright
