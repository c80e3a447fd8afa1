// A Mutator that knows, at each place, the ranges of the loops around it, what names stand for, and the conditions that
// hold there: those that no statement inside may change (ir/changes/known_inside.h).
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/functor.h"

namespace tilewright {

class ScopedMutator : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override;
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override;
  Stmt MutateIf(const IfNode* op, const Stmt& self) override;
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override;

  arith::Analyzer analyzer_;
};

}  // namespace tilewright
