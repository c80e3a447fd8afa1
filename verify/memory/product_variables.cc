#include "verify/memory/product_variables.h"

namespace tilewright {

std::optional<std::vector<const VarNode*>> ProductVariables(const Expr& e) {
  if (const auto* var = dyn_cast<VarNode>(e)) return std::vector{var};
  if (const auto number = AsInt(e)) {
    return *number == 0 ? std::nullopt : std::optional<std::vector<const VarNode*>>(std::in_place);
  }
  if (const auto* op = dyn_cast<CastNode>(e)) {
    return op->dtype().bits() >= op->value.dtype().bits() ? ProductVariables(op->value) : std::nullopt;
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  // Products that wrap may be 0 where no factor is.
  if (op == nullptr || op->op != BinaryOp::kMul || !op->dtype().is_int() || op->dtype().bits() < 32) {
    return std::nullopt;
  }
  auto factors = ProductVariables(op->a), more = ProductVariables(op->b);
  if (!factors || !more) return std::nullopt;
  factors->insert(factors->end(), more->begin(), more->end());
  return factors;
}

}  // namespace tilewright
