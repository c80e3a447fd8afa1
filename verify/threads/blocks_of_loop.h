// What signatures of blocks say about iterations of a loop: those that run instances of their own of a block are apart
// where the block's instances are (verify/structure/spatial_iterators.h).
//
//   for i in T.parallel(n):
//       with T.block("B"): B[table(vi)] = ...     vi spatial, bound to i: no two iterations write the same element
//
// A block in which the threads that run it meet says nothing: each of its instances does a part of what it declares.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/functor.h"
#include "verify/structure/instance_order.h"
#include "verify/threads/touches.h"

namespace tilewright {

// What other checks found out about signatures.
struct RaceFacts {
  std::unordered_set<const BlockNode*> repeating;  // verify/structure/bindings.h
  bool repeats_writes = false;                     // verify/structure/spatial_iterators.h
};

bool SameRegion(const std::vector<Range>& a, const std::vector<Range>& b);

class BlocksOfLoop : public StmtVisitor {
 public:
  BlocksOfLoop(const ForNode& loop, const RaceFacts& facts) : loop_(loop), facts_(facts) { Visit(loop.body); }

  // Whether both touches are of one block below the loop, each iteration runs instances of its own of it, and instances
  // do not meet in the buffer.
  bool Decide(const Touch& a, const Touch& b);

 protected:
  void VisitFor(const ForNode* op) override;
  void VisitBlockRealize(const BlockRealizeNode* op) override;

 private:
  const ForNode& loop_;
  const RaceFacts& facts_;
  std::optional<LoopVars> vars_;  // VarsAtOnce of the loop, once it is asked for
  const BlockRealizeNode* current_ = nullptr;
  std::vector<const ForNode*> threads_;                                // bound loops between the loop and here
  std::unordered_map<const BlockNode*, const BlockRealizeNode*> top_;  // of each block: the one directly below the loop
};

}  // namespace tilewright
