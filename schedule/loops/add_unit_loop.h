// Add unit loop: a loop of one iteration around a loop or block, as a place for other primitives to work on.
//
//   with T.block("B"): ...           ->          for u in range(1):
//                                                    with T.block("B"): ...
//
// Ids: all survive; the loop's is born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct AddUnitLoopResult {
  Function function;
  uint32_t loop = 0;
};

// `id`: of a loop or of a block other than the root.
Outcome<AddUnitLoopResult> AddUnitLoop(const Function& function, uint32_t id);

}  // namespace tilewright
