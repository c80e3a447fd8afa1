#include "codegen/lower/common/certain_loads.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {

bool CertainLoads::contains(const Expr& load) const {
  const auto [first, last] = loads_.equal_range(StructuralHash(load));
  return std::any_of(first, last, [&](const auto& entry) { return StructuralEqual(entry.second, load); });
}

void CertainLoads::Add(const Expr& e) {
  PreOrder(e, [&](const Expr& part) {
    if (isa<LoadNode>(part)) loads_.emplace(StructuralHash(part), part);
    const auto* logic = dyn_cast<BinaryNode>(part);
    const auto* call = dyn_cast<CallNode>(part);
    // The first operand decides whether the others are evaluated.
    if (logic != nullptr && (logic->op == BinaryOp::kAnd || logic->op == BinaryOp::kOr)) {
      Add(logic->a);
      return false;
    }
    if (call != nullptr && call->op == kIfThenElse) {
      Add(call->args[0]);
      return false;
    }
    return true;
  });
}

}  // namespace tilewright
