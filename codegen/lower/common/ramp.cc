#include "codegen/lower/common/ramp.h"

#include <optional>

namespace tilewright {
namespace {

// base + lane * stride
struct Linear {
  Expr base, stride;
};

std::optional<Linear> Detect(const Expr& e) {
  const DataType element = e.dtype().element();
  if (const auto* ramp = dyn_cast<RampNode>(e)) return Linear{ramp->base, ramp->stride};
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) {
    if (!broadcast->value.dtype().is_scalar()) return std::nullopt;
    return Linear{broadcast->value, Const(element, 0)};
  }
  if (const auto* cast_node = dyn_cast<CastNode>(e); cast_node != nullptr && element.is_index()) {
    const auto value = Detect(cast_node->value);
    if (!value || !value->base.dtype().is_index()) return std::nullopt;
    return Linear{CastTo(element, value->base), CastTo(element, value->stride)};
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub && op->op != BinaryOp::kMul)) {
    return std::nullopt;
  }
  const auto a = Detect(op->a), b = Detect(op->b);
  if (!a || !b) return std::nullopt;
  if (op->op == BinaryOp::kAdd) return Linear{a->base + b->base, a->stride + b->stride};
  if (op->op == BinaryOp::kSub) return Linear{a->base - b->base, a->stride - b->stride};
  if (IsInt(b->stride, 0)) return Linear{a->base * b->base, a->stride * b->base};
  if (IsInt(a->stride, 0)) return Linear{a->base * b->base, a->base * b->stride};
  return std::nullopt;
}

}  // namespace

Expr FoldRamp(const Expr& e) {
  const int lanes = e.dtype().lanes();
  if (lanes == 1 || !e.dtype().element().is_index()) return e;
  const auto linear = Detect(e);
  if (!linear) return e;
  return IsInt(linear->stride, 0) ? Broadcast(linear->base, lanes) : Ramp(linear->base, linear->stride, lanes);
}

}  // namespace tilewright
