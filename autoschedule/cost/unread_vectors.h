// Vectors of sums that nothing reads: the columns by which a tile exceeds its output.
//
//   for j in range(2):
//       for k in range(64): for v in T.unroll(3): for l in T.vectorized(16): R[j * 48 + v * 16 + l] += A[k] * B[...]
//       for l in T.vectorized(48): if j * 48 + l < 64: C[j * 48 + l] = R[j * 48 + l]
//
// Four of six vectors are read. Loop partition writes the last tile down by itself, and the compiler leaves out what is
// computed for the other two, with the loads of B for them.
#pragma once

#include "autoschedule/cost/program_facts.h"

namespace tilewright {

// Lowers the shares of such sums, and of the loads that only they use. Before TakeLoopsApart.
void DropUnreadVectors(ProgramFacts* facts);

}  // namespace tilewright
