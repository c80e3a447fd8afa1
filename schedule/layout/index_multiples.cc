#include "schedule/layout/index_multiples.h"

#include <algorithm>
#include <numeric>

#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"

namespace tilewright {

std::optional<IndexMultiples> MultiplesIn(const Expr& index, const std::vector<IterVar>& iters) {
  arith::Analyzer analyzer;
  std::vector<Var> vars;
  for (const IterVar& iter : iters) vars.push_back(iter.var);
  const auto form = arith::DetectLinear(index, vars, &analyzer);
  if (!form || !IsInt(form->base, 0)) return std::nullopt;
  struct Part {
    int64_t coefficient, extent;
  };
  std::vector<Part> parts;
  IndexMultiples result{0, 1, Const(index.dtype(), 0)};
  for (size_t k = 0; k < iters.size(); ++k) {
    const auto coefficient = AsInt(form->coefficients[k]), extent = AsInt(iters[k].domain.extent);
    if (!coefficient || !extent || *coefficient < 0) return std::nullopt;
    if (*coefficient == 0) continue;
    parts.push_back({*coefficient, *extent});
    result.step = std::gcd(result.step, *coefficient);
  }
  if (parts.empty()) return std::nullopt;
  std::ranges::sort(parts, {}, &Part::coefficient);
  for (const Part& part : parts) {
    if (part.coefficient / result.step > result.count) return std::nullopt;
    result.count += part.coefficient / result.step * (part.extent - 1);
  }
  for (size_t k = 0; k < iters.size(); ++k) {
    const int64_t times = *AsInt(form->coefficients[k]) / result.step;
    result.number = result.number + CastTo(index.dtype(), iters[k].var) * Const(index.dtype(), times);
  }
  result.number = analyzer.Simplify(result.number);
  return result;
}

}  // namespace tilewright
