// Fused epilogues: the block that stores a tile also computes what elementwise consumers make of it.
//
//   for tile: C_register = ...; C[...] = C_register[...]           for tile: C_register = ...
//   for i, j: D[i, j] = max(C[i, j] + bias[j], 0)          ->          D[...] = max(C_register[...] + bias[...], 0)
//
// Called by the rules of contractions and reductions before they place the block that writes a tile back, or afterwards
// where consumers take a part of the output only.
#pragma once

#include "schedule/recorder/schedule.h"

namespace tilewright {

// Inlines consumers into `write_back` as long as it has a single one, its value does not get too long, and
// reverse_compute_inline accepts it.
void FuseConsumers(Schedule& sch, BlockRv write_back);

}  // namespace tilewright
