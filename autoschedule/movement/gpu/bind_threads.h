// Loops over elements as blocks and threads of a GPU.
//
//   for i, j in T.grid(100, 60):          for b in T.thread_binding(12, "blockIdx.x"):
//                                 ->          for t in T.thread_binding(128, "threadIdx.x"):
//                                                 for v in range(4):      where b * 128 + t < 1500
//
// A loop of a symbolic extent inside of others is not fused with them: the first ones become blocks of one axis, the
// last one blocks of another and threads, those in between stay loops of each thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// What every thread does is inside of `thread`; `vector` is the innermost loop, over neighbours, where there is one.
struct ThreadLoops {
  LoopRv thread;
  std::optional<LoopRv> vector;
};

// `loops`: nested in each other with nothing but loops in between, outermost first, at least one. `most_vector`:
// elements that a thread may take along the last loop at once; they are neighbours in memory.
//
// Choices, after `name`: NAME.vector elements of a thread at once, NAME.threads of a block.
Outcome<ThreadLoops> BindThreads(Schedule& sch, std::vector<LoopRv> loops, int64_t most_vector, const std::string& name,
                                 const Target& target, Choices& choices);

// Threads of a block out of 32, 64, ... for `work` elements: as many as leave two blocks for each core, 256 at most,
// and a warp at least.
int64_t PreferredThreads(int64_t work, const Target& target);

}  // namespace tilewright
