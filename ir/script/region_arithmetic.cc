#include "ir/script/region_arithmetic.h"

#include <algorithm>
#include <vector>

#include "ir/structural.h"

namespace tilewright::script {
namespace {

constexpr size_t kMaxTerms = 64;

struct Term {
  Expr e;
  bool negative = false;
};

// The terms of a sum; `constant` collects those that are numbers. False when there are too many or they overflow.
bool CollectTerms(const Expr& e, bool negative, std::vector<Term>& terms, int64_t& constant) {
  if (const auto* op = dyn_cast<BinaryNode>(e); op && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
    return CollectTerms(op->a, negative, terms, constant) &&
           CollectTerms(op->b, negative != (op->op == BinaryOp::kSub), terms, constant);
  }
  if (auto value = AsInt(e)) {
    return negative ? !__builtin_sub_overflow(constant, *value, &constant)
                    : !__builtin_add_overflow(constant, *value, &constant);
  }
  if (terms.size() >= kMaxTerms) return false;
  terms.push_back({e, negative});
  return true;
}

void Cancel(std::vector<Term>& terms) {
  for (size_t i = 0; i < terms.size();) {
    auto other = std::find_if(terms.begin() + static_cast<ptrdiff_t>(i) + 1, terms.end(), [&](const Term& term) {
      return term.negative != terms[i].negative && StructuralEqual(term.e, terms[i].e);
    });
    if (other == terms.end()) {
      ++i;
      continue;
    }
    terms.erase(other);
    terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace

Expr IntervalExtent(const Expr& start, const Expr& stop) {
  const auto first = AsInt(start), last = AsInt(stop);
  if (first && last) {
    int64_t extent = 0;
    return __builtin_sub_overflow(*last, *first, &extent) ? stop - start : Const(stop.dtype(), extent);
  }
  if (IsInt(start, 0)) return stop;
  if (const auto* sum = dyn_cast<BinaryNode>(stop); sum && sum->op == BinaryOp::kAdd) {
    if (StructuralEqual(sum->a, start)) return sum->b;
    if (StructuralEqual(sum->b, start)) return sum->a;
  }
  std::vector<Term> terms;
  int64_t constant = 0;
  if (!CollectTerms(stop, false, terms, constant) || !CollectTerms(start, true, terms, constant)) return stop - start;
  Cancel(terms);
  if (!terms.empty()) return stop - start;
  return Const(stop.dtype(), constant);
}

}  // namespace tilewright::script
