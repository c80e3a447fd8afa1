// What sketches say about data: "operand A of block B, at loop L, in scope S".
//
//   for i_0, k_0:                                   for i_0, k_0:
//       for i_1, k_1:                                   A_shared[...] = A[...]               an AutoCopy block
//           C[...] += A[...] * B[...]        ->         for i_1, k_1:
//                                                           C[...] += A_shared[...] * B[...]
//
// Each function inserts one AutoCopy block (schedule/movement/auto_copy.h); an expander of cpu/ or gpu/ turns it into
// primitives of the trace: its loops, and what runs them. An operand that is read at other places than its elements lie
// at is ReIndexed first: `stage` is the block that computes what is copied, at the iterators of the block that reads
// it, with padding and cheap producers perhaps. The copy then computes it, and the stage is gone.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "schedule/recorder/schedule.h"

namespace tilewright {

struct AutoCopy {
  BlockRv block;                      // the AutoCopy block
  LoopRv loop;                        // the loop that it stands in
  std::optional<BlockRv> stage = {};  // the producer of what is read, or the consumer of what is written
  bool reads = true;
};

// What all blocks below the loop read of `operand`, as `block` does.
Outcome<AutoCopy> ReadOperandAt(Schedule& sch, BlockRv block, const Buffer& operand, LoopRv loop, std::string scope);
// The same of what `stage` writes.
Outcome<AutoCopy> ReadStageAt(Schedule& sch, BlockRv block, BlockRv stage, LoopRv loop, std::string scope);
// What `block` writes below the loop: in `scope` there, and copied behind.
Outcome<AutoCopy> WriteResultAt(Schedule& sch, BlockRv block, LoopRv loop, std::string scope);
// The same where `stage` copies what the block writes to where it belongs, with an epilogue perhaps.
Outcome<AutoCopy> WriteStageAt(Schedule& sch, BlockRv block, BlockRv stage, LoopRv loop, std::string scope);

// The first step of each expander: the AutoCopy block becomes a block that copies one element, or computes it as the
// stage did, in loops of its own.
Outcome<std::monostate> Expand(Schedule& sch, const AutoCopy& copy);

}  // namespace tilewright
