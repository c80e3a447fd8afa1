// The statements by which the threads of a group combine what each of them has reduced.
//
// For a reduction over 64 threads: each starts its part, updates it where the block stood, and exchanges it with the
// others at the end (cross_thread_reduction.h shows the result).
#pragma once

#include <vector>

#include "codegen/lower/gpu/thread_digits.h"
#include "ir/function.h"
#include "ir/reducer.h"
#include "ir/substitute.h"

namespace tilewright {

// A reduction of threads: where it stands and what it consists of.
struct ThreadReductionPlan {
  const BlockRealizeNode* realize;
  Reducer reducer;
  ThreadDigits digits;
  VarMap values;                        // of the block's iterators, in terms of loops
  const StmtNode* whole;                // the statement after which all of it was seen
  std::vector<const ForNode*> spatial;  // loops inside of `whole` that choose the element, outermost first
  Expr element_condition;               // of the element, in terms of loops
  Expr condition;                       // of an instance: the block's predicate
  std::vector<Buffer> parts;            // of each thread, one for each component
  std::vector<Buffer> warp, shared;     // one for each component, where they are used
};

struct CombinedParts {
  Stmt start, finish;                           // before and after the whole reduction
  bool uses_warp = false, uses_shared = false;  // which of the plan's buffers the statements need
};
CombinedParts CombineParts(const ThreadReductionPlan& plan, int64_t warp_size, uint32_t* next_id);
// An instance: what replaces the block.
Stmt UpdateParts(const ThreadReductionPlan& plan);

}  // namespace tilewright
