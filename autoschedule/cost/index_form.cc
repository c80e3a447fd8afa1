#include "autoschedule/cost/index_form.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/math.h"

namespace tilewright {
namespace {

// Forms with more distinct values are taken as uniformly distributed.
constexpr int64_t kMostValues = 1 << 14;

int64_t FloorDivInt(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Splits into the multiple of `divisor` and the rest: a == divisor * first + second.
std::pair<IndexForm, IndexForm> Divide(const IndexForm& a, int64_t divisor) {
  IndexForm quotient, rest;
  quotient.exact = rest.exact = a.exact;
  quotient.base = FloorDivInt(a.base, divisor);
  rest.base = a.base - quotient.base * divisor;
  for (IndexTerm term : a.terms) {
    if (term.scale % divisor == 0) {
      term.scale /= divisor;
      quotient.terms.push_back(term);
    } else {
      rest.terms.push_back(term);
    }
  }
  return {std::move(quotient), std::move(rest)};
}

bool StaysBelow(const IndexForm& form, int64_t bound) { return form.Min() >= 0 && form.Max() < bound; }

}  // namespace

int64_t IndexForm::Min() const {
  int64_t value = base;
  for (const IndexTerm& term : terms) value += std::min<int64_t>(0, term.scale * (term.extent - 1));
  return value;
}

int64_t IndexForm::Max() const {
  int64_t value = base;
  for (const IndexTerm& term : terms) value += std::max<int64_t>(0, term.scale * (term.extent - 1));
  return value;
}

IndexForm Add(IndexForm a, const IndexForm& b) {
  a.base += b.base;
  a.exact &= b.exact;
  for (const IndexTerm& term : b.terms) {
    const auto same = std::find_if(a.terms.begin(), a.terms.end(), [&](const IndexTerm& t) {
      return t.loop == term.loop && t.lower == term.lower && t.extent == term.extent;
    });
    if (same == a.terms.end()) {
      a.terms.push_back(term);
    } else if ((same->scale += term.scale) == 0) {
      a.terms.erase(same);
    }
  }
  return a;
}

IndexForm Scale(IndexForm a, int64_t factor) {
  a.base *= factor;
  if (factor == 0) a.terms.clear();
  for (IndexTerm& term : a.terms) term.scale *= factor;
  return a;
}

IndexForm FloorDiv(const IndexForm& a, int64_t divisor) {
  if (divisor <= 0) return {{}, 0, false};
  auto [quotient, rest] = Divide(a, divisor);
  if (StaysBelow(rest, divisor)) return quotient;
  quotient.exact &= rest.base == 0;
  for (const IndexTerm& term : rest.terms) {
    if (term.scale > 0 && divisor % term.scale == 0) {
      const int64_t step = divisor / term.scale;  // the quotient moves by one every `step` values of the term
      if (term.extent > step) {
        quotient.terms.push_back({term.loop, term.lower * step, CeilDiv(term.extent, step), 1});
      }
    } else {
      quotient.exact = false;
      const int64_t values = std::abs(term.scale) * (term.extent - 1) / divisor + 1;
      if (values > 1) quotient.terms.push_back({term.loop, term.lower * CeilDiv(term.extent, values), values, 1});
    }
  }
  return quotient;
}

IndexForm FloorMod(const IndexForm& a, int64_t divisor) {
  if (divisor <= 0) return {{}, 0, false};
  IndexForm rest = Divide(a, divisor).second;
  if (StaysBelow(rest, divisor)) return rest;
  rest.exact &= rest.base == 0;
  for (IndexTerm& term : rest.terms) {
    const int64_t scale = std::abs(term.scale);
    rest.exact &= divisor % scale == 0;
    term.extent = std::min(term.extent, CeilDiv(divisor, scale));
  }
  return rest;
}

IndexForm ToIndexForm(const Expr& e, const std::function<const IndexForm*(const VarNode*)>& lookup) {
  if (const auto value = AsInt(e)) return {{}, *value, true};
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const IndexForm* form = lookup(var);
    return form != nullptr ? *form : IndexForm{{}, 0, false};
  }
  if (const auto* cast = dyn_cast<CastNode>(e)) return ToIndexForm(cast->value, lookup);
  if (const auto* ramp = dyn_cast<RampNode>(e)) return ToIndexForm(ramp->base, lookup);
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return ToIndexForm(broadcast->value, lookup);
  if (const auto* op = dyn_cast<BinaryNode>(e)) {
    IndexForm a = ToIndexForm(op->a, lookup), b = ToIndexForm(op->b, lookup);
    switch (op->op) {
      case BinaryOp::kAdd:
        return Add(std::move(a), b);
      case BinaryOp::kSub:
        return Add(std::move(a), Scale(std::move(b), -1));
      case BinaryOp::kMul:
        if (b.terms.empty() && b.exact) return Scale(std::move(a), b.base);
        if (a.terms.empty() && a.exact) return Scale(std::move(b), a.base);
        break;
      case BinaryOp::kDiv:
      case BinaryOp::kFloorDiv:
        if (b.terms.empty() && b.base > 0) return FloorDiv(a, b.base);
        break;
      case BinaryOp::kMod:
      case BinaryOp::kFloorMod:
        if (b.terms.empty() && b.base > 0) return FloorMod(a, b.base);
        break;
      default:  // min and max of an index: the end of a range, mostly
        break;
    }
    IndexForm nearest = a.terms.empty() ? std::move(b) : std::move(a);
    nearest.exact = false;
    return nearest;
  }
  return {{}, 0, false};
}

double ShareNotNegative(const IndexForm& form) {
  const int64_t min = form.Min(), max = form.Max();
  if (min >= 0) return 1;
  if (max < 0) return 0;
  const auto size = static_cast<size_t>(max - min + 1);
  if (max - min >= kMostValues) return static_cast<double>(max + 1) / static_cast<double>(size);
  // The distribution of the sum of the terms, one term after the other; ways[v]: of reaching min + v.
  std::vector<double> ways(size, 0), next(size);
  ways[0] = 1;
  for (const IndexTerm& term : form.terms) {
    const auto step = static_cast<size_t>(std::abs(term.scale)), period = step * static_cast<size_t>(term.extent);
    for (size_t v = 0; v < size; ++v) {
      next[v] = ways[v] + (v >= step ? next[v - step] : 0) - (v >= period ? ways[v - period] : 0);
    }
    std::swap(ways, next);
  }
  double all = 0, not_negative = 0;
  for (size_t v = 0; v < size; ++v) {
    all += ways[v];
    if (static_cast<int64_t>(v) + min >= 0) not_negative += ways[v];
  }
  return not_negative / all;
}

namespace {

// The share of x % c == r, where x takes c neighbouring values equally often: a loop of that many steps of 1 is enough.
// The form of x % c would be the sum of the remainders of x's terms.
std::optional<double> ShareOfRemainder(const BinaryNode& op,
                                       const std::function<const IndexForm*(const VarNode*)>& lookup) {
  const auto* remainder = dyn_cast<BinaryNode>(op.a);
  if (op.op != BinaryOp::kEQ || remainder == nullptr || remainder->op != BinaryOp::kFloorMod) return std::nullopt;
  const std::optional<int64_t> divisor = AsInt(remainder->b), value = AsInt(op.b);
  if (!divisor || !value || *value < 0 || *value >= *divisor) return std::nullopt;
  for (const IndexTerm& term : ToIndexForm(remainder->a, lookup).terms) {
    if (std::abs(term.scale) == 1 && term.extent % *divisor == 0) return 1 / static_cast<double>(*divisor);
  }
  return std::nullopt;
}

}  // namespace

double ShareTrue(const Expr& condition, const std::function<const IndexForm*(const VarNode*)>& lookup) {
  if (IsTrue(condition)) return 1;
  if (IsFalse(condition)) return 0;
  if (const auto* negated = dyn_cast<NotNode>(condition)) return 1 - ShareTrue(negated->a, lookup);
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr) return 1;
  if (op->op == BinaryOp::kAnd) return ShareTrue(op->a, lookup) * ShareTrue(op->b, lookup);
  if (op->op == BinaryOp::kOr) return 1 - (1 - ShareTrue(op->a, lookup)) * (1 - ShareTrue(op->b, lookup));
  if (!IsComparison(op->op) || IsLogic(op->op) || !op->a.dtype().is_index()) return 1;
  if (const std::optional<double> share = ShareOfRemainder(*op, lookup)) return *share;
  const IndexForm a = ToIndexForm(op->a, lookup), b = ToIndexForm(op->b, lookup);
  IndexForm a_less_b = Add(b, Scale(a, -1)), b_less_a = Scale(a_less_b, -1);
  --a_less_b.base;
  --b_less_a.base;
  switch (op->op) {
    case BinaryOp::kLT:
      return ShareNotNegative(a_less_b);
    case BinaryOp::kGT:
      return ShareNotNegative(b_less_a);
    case BinaryOp::kLE:
      return 1 - ShareNotNegative(b_less_a);
    case BinaryOp::kGE:
      return 1 - ShareNotNegative(a_less_b);
    case BinaryOp::kEQ:
      return 1 - ShareNotNegative(a_less_b) - ShareNotNegative(b_less_a);
    default:
      return ShareNotNegative(a_less_b) + ShareNotNegative(b_less_a);
  }
}

}  // namespace tilewright
