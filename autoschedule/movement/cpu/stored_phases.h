// Outputs whose neighbours belong to several phases: iterators of which each stores apart.
//
//   for h, w, q: Y[h, w * 2 + q] = C_register[h, q, w]      ->      for h, x: Y[h, x] = C_register[h, x % 2, x // 2]
//
// A vector along w would be stored element by element. Lanes of a vector along x are picked from vectors in registers,
// one of each phase (codegen/lower/cpu/load_runs.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schedule/recorder/schedule.h"

namespace tilewright {

// Positions of two iterators of a block that stores at ..., along * count + phase, with `count` phases, few enough to
// pick lanes from.
struct StoredPhases {
  size_t along = 0, phase = 0;
  int64_t count = 0;
};
std::optional<StoredPhases> StoredPhasesOf(const BlockNode& block);

// Makes the two iterators of a block that copies the last one. Whether it did.
bool FuseStoredPhases(Schedule& sch, BlockRv copy);

}  // namespace tilewright
