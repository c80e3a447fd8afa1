// Takes fused loops apart: indices that divide a loop's variable show which loops it was made of.
//
//   for f in range(32): A[f // 8], B[f % 8]      =>      for f.0 in range(4): for f.1 in range(8): A[f.0], B[f.1]
//
// Why: footprints and reuse are questions about single loops. B above is read four times as a whole, not once.
#pragma once

#include "autoschedule/cost/program_facts.h"

namespace tilewright {

// Afterwards each term of an index is scale * loop: `lower` is 1 and `extent` that of the loop (less only where the
// index is not exact).
void TakeLoopsApart(ProgramFacts* facts);

}  // namespace tilewright
