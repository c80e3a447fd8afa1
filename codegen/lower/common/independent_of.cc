#include "codegen/lower/common/independent_of.h"

#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {

bool IsIndependentOf(const Expr& e, const Buffer& stored) {
  bool independent = true;
  PreOrder(e, [&](const Expr& sub) {
    if (const auto* load = dyn_cast<LoadNode>(sub)) independent &= !load->buffer->data.same_as(stored->data);
    if (const auto* call = dyn_cast<CallNode>(sub)) independent &= EffectOf(call->op) == CallEffect::kPure;
    return independent;
  });
  return independent;
}

}  // namespace tilewright
