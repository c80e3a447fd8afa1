// What checks of single blocks share: a walk over the blocks of a function with an analyzer that knows their iterators.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "ir/functor.h"
#include "verify/structure/diagnostic.h"
#include "verify/structure/given_values.h"

namespace tilewright {

// Expressions are not visited. The analyzer assumes what the function says of its sizes.
class BlockChecker : public Visitor {
 public:
  using Visitor::Visit;
  explicit BlockChecker(const Function& function) { GivenValues(function).AssumeSizes(&analyzer_); }
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;

 protected:
  // Runs `check`, then visits the inside of the block, while the analyzer knows the domains of its iterators.
  template <class F>
  void InsideOf(const BlockNode* block, F check) {
    arith::Analyzer::Scope scope(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    check();
    Visit(block->init);
    Visit(block->body);
  }

  arith::Analyzer analyzer_;
};

}  // namespace tilewright
