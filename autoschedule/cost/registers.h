// Buffers of which straight code uses so little that a compiler keeps it in registers.
//
//   for i in range(64): for j in T.unroll(4): sum[j] = ...; for j in T.unroll(4): C[i, j] = sum[j]      `sum` is
#pragma once

#include "autoschedule/cost/program_facts.h"

namespace tilewright {

// Sets BufferFacts::in_registers. After TakeLoopsApart.
void FindRegisters(ProgramFacts* facts);

}  // namespace tilewright
