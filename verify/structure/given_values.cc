#include "verify/structure/given_values.h"

#include "ir/functor.h"

namespace tilewright {

GivenValues::GivenValues(const Function& function) {
  const auto add_sizes = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) sizes_.insert(var);
      return true;
    });
  };
  for (const Param& param : function->params) {
    if (!param.buffer) {
      scalars_.insert(param.var.get());
      continue;
    }
    for (const Expr& extent : param.buffer->shape) {
      add_sizes(extent);
      if (extent.dtype().is_index() && !isa<IntImmNode>(extent)) extents_.push_back(extent);
    }
    for (const Expr& stride : param.buffer->strides) add_sizes(stride);
    if (param.buffer->elem_offset) add_sizes(param.buffer->elem_offset);
  }
}

void GivenValues::AssumeSizes(arith::Analyzer* analyzer) const {
  for (const Expr& extent : extents_) analyzer->Assume(Const(extent.dtype(), 0) <= extent);
}

void GivenValues::AssumeElements(arith::Analyzer* analyzer) const {
  for (const Expr& extent : extents_) analyzer->Assume(Const(extent.dtype(), 1) <= extent);
}

}  // namespace tilewright
