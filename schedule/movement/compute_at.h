// compute_at and reverse_compute_at: moving a producer below a loop of its consumers, and a consumer below a loop of
// its producers.
//
// Why: what one iteration of the loop produces and consumes stays close; this is how tiles come into caches.
//
//   for i, j in T.grid(64, 64):                      for i in range(64):
//       with T.block("B"): B[vi, vj] = ...               for ax0 in range(64):
//   for i, j in T.grid(64, 64):              ->              with T.block("B"):
//       with T.block("C"): ... B[vi, vj] ...                     vi, vj = i, ax0; B[vi, vj] = ...
//                                                        for j in range(64):
//                                                            with T.block("C"): ... B[vi, vj] ...
//
// is compute_at(B, i), and reverse_compute_at(C, i) makes loops of C behind those of B. The loops of the moved block
// are made anew, "ax0", "ax1", ...: one for each iterator, over exactly the instances that one iteration of the loop
// needs (or can feed); an iterator that takes one value gets no loop unless `preserve_unit_loops`. Where the last
// iteration needs fewer instances than the others, the block gets a predicate.
//
//   needed of B below i_0: [i_0 * 16, i_0 * 16 + 18)     B[v], v in [0, 66)
//   gives                  for ax0 in range(18): v = i_0 * 16 + ax0
//
// `index` says where in the loop's body: -1 at the last possible place, -2 at the first, else that position.
//
// Conditions of both: loop and block are in the same scope, which holds loops and blocks only, and the loop is not
// around the block; the block is complete or a reduction, and its predicate only keeps iterators inside of their
// domains, or uses loops that are iterators and leaves out no first instance of a reduction (reverse_compute_at: any
// instances of a complete block); its instances do not depend on each other (verify/structure/instance_order.h), or
// their order stays; it is not the only block of the scope. compute_at: the block writes no buffer that outlives the
// scope; all its consumers (at least one) are below the loop; no block that follows it writes what it reads; the
// instances that run below the loop, which may be more than are needed, read what is written by then; iterations of a
// vectorized loop around them stay independent.
// reverse_compute_at: its producers (at least one) are below the loop, or done before the outermost loop around it
// begins; each instance runs in some iteration, and what it reads is produced by then: the loop and those around it may
// carry no reduction of a producer, and the instances of one iteration read inside of what that iteration produces, a
// box without gaps. A reduction that is
// spread over iterations needs that each of its instances runs once, and that these iterations run in turn. A
// producer's predicate, too, only keeps iterators inside of their domains, or leaves out no first instance of a
// reduction.
//
// The block keeps its id; its old loops die, the new ones are born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct ComputeAtResult {
  Function function;
};

Outcome<ComputeAtResult> ComputeAt(const Function& function, uint32_t block, uint32_t loop,
                                   bool preserve_unit_loops = false, int index = -1);
Outcome<ComputeAtResult> ReverseComputeAt(const Function& function, uint32_t block, uint32_t loop,
                                          bool preserve_unit_loops = false, int index = -1);

}  // namespace tilewright
