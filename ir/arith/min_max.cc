// Minima and maxima of sums.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

const BinaryNode* AsMinMax(const Term& term) {
  const auto* op = term.IsSplit() ? nullptr : dyn_cast<BinaryNode>(term.atom);
  return op != nullptr && (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) ? op : nullptr;
}

Term* FindTerm(Sum* sum, const Term& wanted, int64_t scale) {
  for (Term& term : sum->terms) {
    bool same = term.scale == scale && term.upper == wanted.upper && term.lower == wanted.lower &&
                SameAtom(term.atom, wanted.atom);
    if (same) return &term;
  }
  return nullptr;
}

// Takes out of both sums what they share: i + 1 and n + 1 share 1, i * 16 + 18 and i * 16 + k share i * 16.
Sum TakeCommon(Sum* a, Sum* b) {
  Sum common = Sum::Constant(a->dtype, 0);
  for (size_t i = 0; i < a->terms.size();) {
    Term* shared = FindTerm(b, a->terms[i], a->terms[i].scale);
    if (shared == nullptr) {
      ++i;
      continue;
    }
    common.terms.push_back(a->terms[i]);
    b->terms.erase(b->terms.begin() + (shared - b->terms.data()));
    a->terms.erase(a->terms.begin() + i);
  }
  if (a->base == b->base) {
    common.base = a->base;
    a->base = b->base = 0;
  }
  return common;
}

// The largest constant that divides both sums, neither of which is a constant; divides them by it.
int64_t TakeScale(Sum* a, Sum* b) {
  if (a->terms.empty() || b->terms.empty()) return 1;
  int64_t scale = std::gcd(a->base, b->base);
  for (const Sum* sum : {a, b}) {
    for (const Term& term : sum->terms) scale = std::gcd(scale, term.scale);
  }
  for (Sum* sum : {a, b}) {
    sum->base /= scale;
    for (Term& term : sum->terms) term.scale /= scale;
  }
  return scale;
}

}  // namespace

Sum Context::MinMaxToSum(const BinaryNode* op, const Expr& self) {
  Sum a = ToSum(op->a), b = ToSum(op->b);
  if (a.overflow || b.overflow || HasEffect(self)) return Opaque(self);
  Sum result = CombineMinMax(op->op, std::move(a), std::move(b));
  return result.overflow ? Opaque(self) : result;
}

Sum Context::CombineMinMax(BinaryOp op, Sum a, Sum b) {
  bool is_min = op == BinaryOp::kMin;
  Sum difference = a, opposite = b;  // a - b and b - a
  AddSum(&difference, b, -1);
  AddSum(&opposite, a, -1);
  if (ProveNonNegative(difference)) return is_min ? b : a;
  if (ProveNonNegative(opposite)) return is_min ? a : b;
  Sum result = TakeCommon(&a, &b);
  int64_t scale = TakeScale(&a, &b);
  Expr left = SumToAtom(a), right = SumToAtom(b);
  if (!left || !right) {
    result.overflow = true;
    return result;
  }
  // min(min(x, c1), c2)
  const auto* inner = dyn_cast<BinaryNode>(left);
  auto c = inner != nullptr && inner->op == op && b.IsConstant() ? AsInt(inner->b) : std::nullopt;
  if (c) {
    left = inner->a;
    right = Const(left.dtype(), is_min ? std::min(*c, b.base) : std::max(*c, b.base));
  }
  AddSum(&result, Opaque(MakeBinary(op, left, right)), scale);
  return result;
}

// min(i * 16 + 18, n) - i * 16 is min(18, n - i * 16): a term that cancels within a minimum moves into it.
void Context::FoldMinMax(Sum* sum) {
  for (size_t m = 0; m < sum->terms.size(); ++m) {
    const BinaryNode* op = AsMinMax(sum->terms[m]);
    if (op == nullptr || std::llabs(sum->terms[m].scale) != 1) continue;
    const Term choice = sum->terms[m];
    Sum a = ToSum(op->a), b = ToSum(op->b), rest = *sum;
    rest.terms.erase(rest.terms.begin() + m);
    bool moved = false;
    for (size_t i = 0; i < rest.terms.size();) {
      Term term = rest.terms[i];
      if (term.scale == kNegInf) return;
      term.scale *= choice.scale;
      if (FindTerm(&a, term, -term.scale) == nullptr && FindTerm(&b, term, -term.scale) == nullptr) {
        ++i;
        continue;
      }
      AddTerm(&a, term);
      AddTerm(&b, term);
      rest.terms.erase(rest.terms.begin() + i);
      moved = true;
    }
    if (!moved) continue;
    AddSum(&rest, CombineMinMax(op->op, std::move(a), std::move(b)), choice.scale);
    if (!rest.overflow) *sum = std::move(rest);
    return;
  }
}

}  // namespace tilewright::arith
