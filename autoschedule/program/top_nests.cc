#include "autoschedule/program/top_nests.h"

#include "ir/functor.h"

namespace tilewright {

int CountTopNests(const Function& function) {
  int nests = 0;
  PreOrder(function->body, [&](const Stmt& stmt) {
    const bool is_work = dyn_cast<ForNode>(stmt) != nullptr || dyn_cast<StoreNode>(stmt) != nullptr ||
                         (dyn_cast<EvaluateNode>(stmt) != nullptr && !IsNoOp(stmt));
    if (is_work) ++nests;
    return !is_work;
  });
  return nests;
}

}  // namespace tilewright
