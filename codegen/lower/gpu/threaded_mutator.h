// A ScopedMutator that knows the loops around which are bound to the threads of a block.
#pragma once

#include <vector>

#include "codegen/lower/common/scoped_mutator.h"

namespace tilewright {

class ThreadedMutator : public ScopedMutator {
 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override;

  // Whether only the first thread of a block comes to where these conditions hold.
  bool IsFirstThread(const std::vector<Expr>& conditions);

  std::vector<const ForNode*> threads_;
};

}  // namespace tilewright
