// Memory that a block allocates and reads by itself, not by a block inside of it, is written before.
//
//   with T.block("B"):
//       T = T.alloc_buffer((4,))
//       for k in range(3): T[k] = A[vi, k]
//       B[vi] = T[0] + T[3]                       T[3] was never written
//
// A load is fed by stores of the same indices with nothing in between, or by statements before it in the sequences
// around both that surely write all it may touch, loops around both held fixed.
//
// The init of a reduction sets all that the block declares to write. What blocks inside read is the business of
// verify/regions/region_cover.h. Where no rule shows it, a run of the program does
// (verify/structure/exact_run.h); where that would take too long, it is assumed.
#pragma once

#include "verify/regions/sure_writes.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Whether a block that holds no blocks reads of the buffer only what it wrote itself before.
bool ReadsWhatItWrote(const BlockNode& block, const Buffer& buffer, SureWrites* sure);

Diagnostics CheckInitialization(const Function& function);

}  // namespace tilewright
