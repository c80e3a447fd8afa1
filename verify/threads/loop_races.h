// Iterations of one loop that may touch the same element at the same time.
//
//   for tx in T.thread_binding(8, thread="threadIdx.x"):
//       C[tx] = ...                       proven apart
//       C[P[tx]] = ...                    taken to be apart: each iteration looks up data of its own. A block around it
//                                         has to say by a spatial iterator that its instances are independent
//       C[P[0] + tx // 2] = ...           unproven: whatever P[0] is, two iterations write an element
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "verify/structure/given_values.h"
#include "verify/threads/blocks_of_loop.h"
#include "verify/threads/touches.h"

namespace tilewright {

using TouchPair = std::pair<const Touch*, const Touch*>;
struct LoopRaces {
  std::optional<TouchPair> unproven;     // the first two touches that are neither proven nor taken to be apart
  std::optional<TouchPair> taken_apart;  // the first two before these that are taken to be
};

// `touches`: what is to be proven, of `all`, below the loop. `values`: of names in their places. `own`: iterations have
// memory of their own, so that writes do not meet.
LoopRaces FindLoopRaces(const ForNode* loop, const std::vector<const Touch*>& touches, const std::vector<Touch>& all,
                        const ValuesByName& values, const RaceFacts& facts, const GivenValues& given, bool own = false);

}  // namespace tilewright
