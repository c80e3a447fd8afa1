// Elementwise blocks of one domain in one loop.
//
//   for i: M[i] = M0[i] * 0.9 + G[i] * 0.1            for i:
//   for i: V[i] = V0[i] * 0.9 + G[i] * G[i]     ->        M[i] = ...
//   for i: P[i] = P0[i] - M[i] / sqrt(V[i])               V[i] = ...
//                                                         P[i] = ...
//
// so that what they share is read once, and what one makes is used where it is. The results are outputs, or are used
// elsewhere too: others were inlined (autoschedule/normalize/inline_rule.h).
//
// Choice: NAME.siblings, where a block has some.
#pragma once

#include <span>
#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Moves unscheduled `blocks` into the loops of `block` if they have the same vector axis and extents, share a buffer
// with a block there, and nothing in between depends on the order.
Outcome<std::monostate> MergeSiblings(Schedule& sch, BlockRv block, std::span<const BlockRv> blocks,
                                      const Target& target, Choices& choices);

}  // namespace tilewright
