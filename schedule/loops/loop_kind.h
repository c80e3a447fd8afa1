// How the iterations of a loop run: in order, at once on several cores, as lanes of vectors, written out, or on
// threads.
//
//   for i in range(64):                          for i in T.parallel(64):
//       with T.block("B"): ...             ->        with T.block("B"): ...
//
// Conditions of parallel, vectorize and bind (schedule/program/loop_independence.h says them in full): the loop feeds
// spatial iterators only; what a block uses of another, that one wrote in the same iteration; a block whose bindings
// are not affine or do not depend on the loop writes only buffers that nothing outside of the loop uses (for vectorize:
// that are allocated below the loop). A loop bound to threadIdx may also feed reduce iterators of blocks that have an
// init and write memory which threads share. Threads do not meet inside of a loop that becomes parallel or vectorized.
// Unroll has no condition.
//
// Ids: all survive.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> Parallel(const Function& function, uint32_t loop);
Outcome<Function> Vectorize(const Function& function, uint32_t loop);
Outcome<Function> Unroll(const Function& function, uint32_t loop);
// `thread`: "blockIdx.x" to ".z", "clusterCtaIdx.x" to ".z", "threadIdx.x" to ".z", "vthread", "vthread.x" to ".z".
Outcome<Function> Bind(const Function& function, uint32_t loop, std::string_view thread);

}  // namespace tilewright
