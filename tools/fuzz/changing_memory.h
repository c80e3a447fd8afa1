// Random programs that store between reads of the same memory and what depends on them.
//
//   for i in T.vectorized(13):
//       with T.block("rows"):
//           vi = T.axis.spatial(13, i)
//           N[vi] = 2
//           if N[vi] < B[vi, 3]:              a guard whose statements change what it reads
//               N[vi] = N[vi] + 1
//               for k in range(N[vi]):        ends in memory
//                   S[vi, N[vi]] = A[vi, k]
//                   N[vi] = ...
//
// Four forms: rows with a state of their own (counters, a best value, locals), guards one after the other, reductions
// with guards that hold several stores (the least and its place), and queues, whose iterators have their values from
// memory. Conditions, ends of loops, iterators and indices read the state; any statement may change it. Indices are cut
// to their range.
#pragma once

#include "tools/fuzz/program_text.h"

namespace tilewright {

ProgramText MakeChangingMemoryText(uint64_t seed, const std::set<int>& without = {});

}  // namespace tilewright
