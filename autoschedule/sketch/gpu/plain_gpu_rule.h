// Schedules on a GPU for blocks that no other rule takes: elementwise blocks, copies, stencils, pooling, depthwise
// convolutions, products of any form.
//
//   for n, h, w, c, r, s: C[n, h, w, c] += P[n, h + r, w + s, c] * W[r, s, c]
//
//   for b in T.thread_binding(..., "blockIdx.x"), t in T.thread_binding(256, "threadIdx.x"):
//       C_local[0:4] = 0
//       for r, s:
//           C_local[0:4] += P[...] * W[...]          producers (padding) computed here
//       C[...] = C_local[0:4]                        elementwise consumers computed here
//
// Every element is one thread's, or that of several neighbours, where all that is accessed lies side by side.
//
// Choices, each after the block's name:
//   NAME.vector    neighbours of one thread
//   NAME.threads   of a block
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A refusal of "plain_gpu_rule" for blocks without spatial iterators, with loops inside, or whose iterators are not
// bound to loops of their own; on it the steps before stay applied.
Outcome<std::monostate> SchedulePlainOnGpu(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

// Makes the block write to memory of threads, and returns the block that copies from there. What the iterators index in
// another way than one each, a phase and a place for example, they index by themselves then.
Outcome<BlockRv> SumInLocalMemory(Schedule& sch, BlockRv block);

// Computes what elementwise producers make of the block's inputs where it reads them, as long as that is cheap:
// padding, casts. A refusal leaves a producer where it is.
void InlineCheapProducers(Schedule& sch, BlockRv block);

}  // namespace tilewright
