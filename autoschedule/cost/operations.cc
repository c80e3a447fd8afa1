#include "autoschedule/cost/operations.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// Zero points of integers are split off (schedule/algebra/split_offset.h).
DataType ElementType(const Expr& e) {
  const Expr& value = WithoutCasts(e);
  const auto* sum = dyn_cast<BinaryNode>(value);
  const bool offset = sum != nullptr && (sum->op == BinaryOp::kAdd || sum->op == BinaryOp::kSub);
  if (!offset || !value.dtype().is_integer()) return value.dtype().element();
  const DataType x = ElementType(sum->a), y = ElementType(sum->b);
  return x.bits() <= y.bits() ? x : y;
}

}  // namespace

const Expr& WithoutCasts(const Expr& e) {
  const Expr* inner = &e;
  while (true) {
    if (const auto* cast = dyn_cast<CastNode>(*inner)) {
      inner = &cast->value;
    } else if (const auto* broadcast = dyn_cast<BroadcastNode>(*inner)) {
      inner = &broadcast->value;
    } else {
      return *inner;
    }
  }
}

OperationKind KindOfCall(std::string_view op) {
  if (op == kDotAdd) return OperationKind::kDot;
  if (op == "amx_dot_add") return OperationKind::kTiles;
  if (op == kFlipSignBit) return OperationKind::kArithmetic;
  if (op == "sqrt" || op == "rsqrt") return OperationKind::kDivide;
  for (std::string_view cheap :
       {"floor",      "ceil",        "trunc",       "round",       "round_away", "nearbyint",   "copysign",
        "isnan",      "isinf",       "isfinite",    "abs",         "shift_left", "shift_right", "bitwise_and",
        "bitwise_or", "bitwise_xor", "bitwise_not", "reinterpret", "popcount",   "clz",         "fma"}) {
    if (op == cheap) return op == "fma" ? OperationKind::kMultiplyAdd : OperationKind::kArithmetic;
  }
  return EffectOf(op) == CallEffect::kPure ? OperationKind::kTranscendental : OperationKind::kCall;
}

bool ReadsItself(const StoreNode* store) {
  const auto is_old = [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || !load->buffer.same_as(store->buffer)) return false;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      if (load->indices[d].get() != store->indices[d].get() && !StructuralEqual(load->indices[d], store->indices[d])) {
        return false;
      }
    }
    return true;
  };
  if (const auto* op = dyn_cast<BinaryNode>(store->value)) return is_old(op->a) || is_old(op->b);
  if (const auto* call = dyn_cast<CallNode>(store->value))
    return std::any_of(call->args.begin(), call->args.end(), is_old);
  return false;
}

DataType MultipliedType(const Expr& a, const Expr& b) {
  const DataType x = ElementType(a), y = ElementType(b);
  return x.bits() >= y.bits() ? x : y;
}

bool ShareIsKnown(const Expr& condition) {
  if (const auto* negated = dyn_cast<NotNode>(condition)) return ShareIsKnown(negated->a);
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr) return AsInt(condition).has_value();
  return IsLogic(op->op) ? ShareIsKnown(op->a) && ShareIsKnown(op->b)
                         : op->a.dtype().is_index() && !isa<LoadNode>(op->a);
}

}  // namespace tilewright
