#include "codegen/lower/common/lower_blocks.h"

#include "ir/functor.h"

namespace tilewright {

Function LowerBlocks(const Function& function) {
  Stmt body = RewriteStmt(function->body, [](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return s;
    return IsTrue(realize->predicate) ? realize->block->body : If(realize->predicate, realize->block->body);
  });
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
