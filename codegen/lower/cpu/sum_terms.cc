#include "codegen/lower/cpu/sum_terms.h"

#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

bool IsOldValue(const Expr& e, const StoreNode& store) {
  const auto* old = dyn_cast<LoadNode>(e);
  return old != nullptr && old->buffer.same_as(store.buffer) && StructuralEqual(old->indices, store.indices);
}

Expr Factor(const Expr& e) {
  const auto* converted = dyn_cast<CastNode>(e);
  return WithoutBroadcast(converted != nullptr ? converted->value : e);
}

}  // namespace

const Expr& WithoutBroadcast(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return broadcast != nullptr ? broadcast->value : e;
}

std::optional<Term> TermOf(const StoreNode& store) {
  if (const auto* dot = dyn_cast<CallNode>(store.value); dot != nullptr && dot->op == kDotAdd) {
    if (!IsOldValue(dot->args[0], store)) return std::nullopt;
    return Term{Factor(dot->args[1]), Factor(dot->args[2])};
  }
  const auto* sum = dyn_cast<BinaryNode>(store.value);
  if (sum == nullptr || sum->op != BinaryOp::kAdd || !IsOldValue(sum->a, store)) return std::nullopt;
  const auto* product = dyn_cast<BinaryNode>(sum->b);
  if (product == nullptr || product->op != BinaryOp::kMul) return std::nullopt;
  return Term{Factor(product->a), Factor(product->b)};
}

}  // namespace tilewright
