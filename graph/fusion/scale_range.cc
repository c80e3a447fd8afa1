#include "graph/fusion/scale_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tilewright::graph {
namespace {

template <class T>
Expr Limit(bool least) {
  return ConstFloat(DataType::Float(8 * sizeof(T)),
                    least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
}
Expr LimitOf(DataType type, bool least) { return type.bits() == 32 ? Limit<float>(least) : Limit<double>(least); }

template <class T>
bool StayNormal(const ConstantNode& weights, size_t dimension, const NDArray& factors) {
  int64_t inner = 1;
  for (size_t d = dimension + 1; d < weights.shape.size(); ++d) inner *= weights.shape[d];
  const int64_t channels = weights.shape[dimension];
  std::vector<T> elements(static_cast<size_t>(weights.bytes.size()) / sizeof(T)),
      largest(static_cast<size_t>(channels), 0);
  weights.bytes.CopyTo(reinterpret_cast<std::byte*>(elements.data()));
  for (size_t i = 0; i < elements.size();) {
    T& most = largest[i / static_cast<size_t>(inner) % static_cast<size_t>(channels)];
    for (int64_t k = 0; k < inner; ++k, ++i) most = std::max(most, std::abs(elements[i]));
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T most = largest[static_cast<size_t>(c)];
    const T factor = std::abs(static_cast<T>(factors.Get(c)));
    const T scaled = most * factor;
    if (!std::isfinite(scaled)) return false;
    const bool was_normal = most >= std::numeric_limits<T>::min() && factor > 0;
    if (was_normal && scaled < std::numeric_limits<T>::min()) return false;
  }
  return true;
}

}  // namespace

Expr StaysNormal(const Expr& e) {
  const Expr most = LimitOf(e.dtype(), false), least = LimitOf(e.dtype(), true);
  const Expr minus = Const(e.dtype(), -1);
  const Expr finite = And(e <= most, e >= most * minus);
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return finite;
  const bool is_product = op->op == BinaryOp::kMul, is_quotient = op->op == BinaryOp::kDiv;
  if (!is_product && !is_quotient && op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub) return finite;
  const Expr good = And(And(StaysNormal(op->a), StaysNormal(op->b)), finite);
  if (!is_product && !is_quotient) return good;
  const Expr zero = Const(e.dtype(), 0);
  Expr kept = Or(Or(e >= least, e <= least * minus), op->a == zero);
  if (is_product) kept = Or(kept, op->b == zero);
  return And(good, kept);
}

bool WeightsStayNormal(const ConstantNode& weights, size_t dimension, const NDArray& factors) {
  return weights.dtype.bits() == 32 ? StayNormal<float>(weights, dimension, factors)
                                    : StayNormal<double>(weights, dimension, factors);
}

}  // namespace tilewright::graph
