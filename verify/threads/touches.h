// What a program touches, place by place, with the loops around and the barriers between.
//
//   for tx in T.thread_binding(8, "threadIdx.x"):
//       with T.block("copy"): S[vi] = A[vi]              touch of S[tx], written, phase 0
//       T.tvm_storage_sync("shared")
//       with T.block("use"): B[vi] = S[7 - vi]           touch of S[7 - tx], read, phase 1
//
// Threads meet at barriers, so accesses of different threads are ordered when their phases differ. Barriers are the
// explicit ones of a block of threads, and the ones around a loop that is bound to a thread inside of a loop with the
// same tag: it starts no threads, each takes its own index. A serial loop with barriers in it is walked twice, the
// second time with its variable one further: what stands behind its last barrier meets what stands before its first. So
// is a `while`.
#pragma once

#include <string>
#include <vector>

#include "ir/arith/domain.h"
#include "ir/function.h"
#include "verify/threads/memory_values.h"

namespace tilewright {

struct Touch {
  BufferRegion region;  // in terms of loops; iterators are replaced by what they are bound to
  BufferRegion place;   // the same with names of values that memory holds, where `region` is all of the buffer
  bool write = false;
  int phase = 0;
  std::vector<const ForNode*> loops;  // around it, outermost first, joined loops left out
  Expr predicate;                     // of the blocks around, in terms of loops; may be null
  const BlockNode* block = nullptr;   // the innermost around
  // Loops around of which this is the next iteration, walked to meet what stands in the one before.
  std::vector<const StmtNode*> advanced;
  // The block combines values over iterations of these loops, as far as they are bound to threadIdx.
  std::vector<const ForNode*> reduces_over;
};

struct DividedBarrier {
  uint32_t object;  // id of the block or loop that it stands in
  Expr condition;   // on which it depends whether a thread comes there
};

inline constexpr size_t kMostRepeatedTouches = 2000;

struct Touches {
  std::vector<Touch> touches;  // below concurrent loops only, and all of memory that is not the device's
  std::vector<DividedBarrier> divided_barriers;
  ValuesByName values;  // in `place`s
  // Places are repeated in next iterations, kMostRepeatedTouches of them were collected: serial loops in each other
  // with barriers.
  bool too_many = false;
};

// Threads that meet at barriers: threadIdx and vthread.
bool StartsThreads(const ForNode& loop);

Touches CollectTouches(const Function& function);

}  // namespace tilewright
