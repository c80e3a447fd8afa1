#include "schedule/program/integer_range.h"

#include <algorithm>

#include "ir/arith/analyzer.h"

namespace tilewright {
namespace {

// Ends of the values of a signed type; those of 64 bits are as good as infinite.
arith::Bounds ValuesOf(DataType type) {
  if (!type.is_int() || type.bits() == 64) return {};
  const int64_t most = (int64_t{1} << (type.bits() - 1)) - 1;
  return {-most - 1, most};
}

}  // namespace

IntegerRange::IntegerRange(DataType type, const std::vector<IterVar>& iterators)
    : type_(type), iterators_(iterators), wraps_(!type.is_int() || type.bits() < 32) {}

std::optional<arith::Bounds> IntegerRange::OfProduct(const std::vector<Expr>& factors) const {
  arith::Analyzer analyzer;
  for (const IterVar& iter : iterators_) analyzer.Bind(iter.var, iter.domain);
  arith::Bounds product = arith::Bounds::Point(1);
  for (const Expr& factor : factors) {
    const arith::Bounds values = arith::Intersect(analyzer.ConstBounds(factor), ValuesOf(factor.dtype()));
    const std::optional<arith::Bounds> now = Inside(product * values);
    if (!now) return std::nullopt;
    product = *now;
  }
  return product;
}

std::optional<arith::Bounds> IntegerRange::OfSum(const arith::Bounds& term) const {
  arith::Bounds count = arith::Bounds::Point(1);
  for (const IterVar& iter : iterators_) {
    if (iter.kind != IterKind::kReduce) continue;
    const auto extent = AsInt(iter.domain.extent);
    count = count * (extent ? arith::Bounds::Point(std::max<int64_t>(*extent, 0)) : arith::Bounds{0, arith::kPosInf});
  }
  return Inside(arith::Union(arith::Bounds::Point(0), count * term));
}

std::optional<arith::Bounds> IntegerRange::Inside(const arith::Bounds& values) const {
  if (wraps_) return arith::Bounds{};
  const arith::Bounds type = ValuesOf(type_);
  return values.IsFinite() && values.Within(type.min, type.max) ? std::optional(values) : std::nullopt;
}

}  // namespace tilewright
