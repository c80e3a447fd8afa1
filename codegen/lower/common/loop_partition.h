// Cuts loops where conditions inside of them change their value, so that each part is free of them.
//
//   for i0 in range(43):                            for i0 in range(42):
//       for i1 in T.unroll(12):                         for i1 in T.unroll(12):
//           if i0 * 12 + i1 < 512: ...         =>           ...
//                                                   for i1 in T.unroll(12):
//                                                       if 504 + i1 < 512: ...     # constant once it is unrolled
//
// Considered are comparisons that are linear in the loop's variable, in branches, predicates and if_then_else; where
// they are not, a loop of few iterations is cut into all of them. The borders of convolutions and the edges of tiles so
// cost nothing inside. A parallel loop is not cut; each stage of its body becomes a branch over the parts instead, of a
// fused one over those of the loops that it was made of. Code grows by a bounded factor: the longest part of each loop
// is cut further before the others, and a loop whose parts would exceed the bound stays whole. Large bodies are not
// repeated for conditions of single lanes.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace tilewright {

Function PartitionLoops(const Function& function);

// Stores of one function after unrolling up to which code is repeated.
inline constexpr int64_t kMaxStores = 3000;
// How much code a statement becomes, in stores, as an estimate.
int64_t CountStores(const Stmt& s);

}  // namespace tilewright
