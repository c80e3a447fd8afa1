#pragma once

#include <unordered_set>

#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {

// The parts of a loop whose iterations are independent, as the program says: blocks directly below it that depend on it
// by a spatial iterator, with the blocks inside of them, and bare statements that threads run, which no schedule
// starts.
class IndependentParts : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit IndependentParts(const ForNode& loop) : loop_(loop) { Visit(loop.body); }
  bool Contain(const BlockNode* block) const {
    return below_.contains(block) ? found_.contains(block) : loop_.kind == ForKind::kThreadBound;
  }

 protected:
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const bool outer = independent_;
    for (size_t i = 0; i < op->bindings.size() && depth_ == 0; ++i) {
      independent_ |= op->block->iter_vars[i].kind == IterKind::kSpatial && UsesVar(op->bindings[i], loop_.var);
    }
    below_.insert(op->block.get());
    if (independent_) found_.insert(op->block.get());
    ++depth_;
    StmtVisitor::VisitBlockRealize(op);
    --depth_;
    independent_ = outer;
  }

 private:
  const ForNode& loop_;
  std::unordered_set<const BlockNode*> below_, found_;
  bool independent_ = false;
  int depth_ = 0;
};

}  // namespace tilewright
