// Block iterators get values inside of their domains, independently of each other.
//
//   for i, j in T.grid(4, 8):
//       with T.block("B"):
//           vi = T.axis.spatial(16, i * 8 + j)        refused: i * 8 + j runs up to 31, the domain ends at 16
//           vj = T.axis.spatial(8, j)                 refused: vi and vj both depend on j
//
// If the block's predicate holds, each binding must provably lie in its iterator's domain; one that reads memory,
// P[e] + t, or a loop whose extent does, is assumed to. No two spatial or reduce
// iterators may depend on each other, since everything that is concluded from a block's signature takes them as
// independent. Bindings of reduce iterators must be quasi-affine and reach each value once (ir/arith/iter_map.h); a
// spatial iterator may be bound so that instances run again (halos: i * 4 + j with j < 6) when what outer loops add to
// it is independent of what they add to others (i = f // 3, or f % 3, of a fused loop f). What repeats instances of a
// reduction lies outside of its loops: no more of their iterations than values of the bindings. Where few constant
// loops are in no such form, their instances are counted (verify/structure/instances.h).
//
// A loop over threads inside of another loop over the same ones takes the index of its thread. No block may depend on
// both:
//
//   for tx in T.thread_binding(8, thread="threadIdx.x"):
//       with T.block("row"):
//           vi = T.axis.spatial(8, tx)
//           for ty in T.thread_binding(4, thread="threadIdx.x"):
//               with T.block("B"):
//                   vj = T.axis.spatial(4, ty)       refused when B uses vi too: instance vi of row runs vj = vi alone
#pragma once

#include <unordered_set>

#include "verify/structure/diagnostic.h"

namespace tilewright {

// `repeating` (may be null) gets the blocks whose instances may run again: those whose bindings are not known to differ
// in all iterations of the loops between them and their scope.
Diagnostics CheckBindings(const Function& function, std::unordered_set<const BlockNode*>* repeating = nullptr);

}  // namespace tilewright
