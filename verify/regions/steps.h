// What a scope does, step by step: its blocks, and the stores that stand outside of them.
//
//   with T.block("scope"):
//       n[0] = A[0]                         a step that writes n[0], as a block of its own would
//       if v < 4:
//           with T.block("B"): ... n[0]     a step with the condition v < 4
//
// Whoever writes threads by hand keeps scalars in memory of threads and sets them between blocks.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/domain.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

struct Step : ScopeChild {
  // A branch of an `if` around the step, or a `while`, which runs it any number of times.
  struct Condition {
    const StmtNode* of;
    Expr holds;  // null: nothing is known
    bool is_else;
  };
  std::vector<Condition> conditions;  // outermost first
  bool is_store = false;
};

class Steps {
 public:
  // Blocks that stand for stores live as long as `kept`, since what is known of regions is remembered by address.
  static Steps Of(const BlockNode* block, std::vector<Stmt>* kept);

  const BlockNode* block() const { return block_; }
  const std::vector<Step>& steps() const { return steps_; }  // in the order of the program

 private:
  const BlockNode* block_ = nullptr;
  std::vector<Step> steps_;
};

// What the statements of a block load of a buffer, each as a step that reads one element, with the loops and conditions
// of the block and those inside of it. The block must hold no blocks.
std::vector<Step> LoadsOf(const Step& reader, const Buffer& buffer, std::vector<Stmt>* kept);

// How many conditions two steps have in common: where one of them ran under these, the other did too.
size_t CommonConditions(const Step& a, const Step& b);

// What has to hold so that `before` runs before `step`, beside what holds where `step` runs; nothing where memory
// decides, or how often it runs is not known. What holds for the step need not hold for the other ones of `threads`.
std::optional<Expr> ConditionToRunBefore(const Step& before, const Step& step, const arith::Domain& threads);
// What holds where the step runs, conditions that memory decides left out.
Expr WhatHolds(const Step& step);

}  // namespace tilewright
