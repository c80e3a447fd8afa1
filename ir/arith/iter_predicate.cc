#include "ir/arith/iter_predicate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::arith {
namespace {

void FlattenAnd(const Expr& e, std::vector<Expr>* conditions) {
  if (!e || IsTrue(e)) return;
  if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && op->op == BinaryOp::kAnd) {
    FlattenAnd(op->a, conditions);
    FlattenAnd(op->b, conditions);
  } else {
    conditions->push_back(e);
  }
}

}  // namespace

IterDomain::IterDomain(const Domain& domain, Analyzer* analyzer) : analyzer_(*analyzer), domain_(domain) {
  iterators_.reserve(domain.size());
  for (const auto& [var, range] : domain) {
    Expr extent = isa<IntImmNode>(range.extent) ? range.extent : analyzer->Simplify(range.extent);
    Iterator iterator{var, Monomial::Of(extent), var};
    if (!range.min || IsInt(range.min, 0)) {
      analyzer->Bind(var, Range{range.min ? range.min : Const(var.dtype(), 0), extent});
    } else {
      iterator.var = Var(var.name(), var.dtype());
      iterator.value = var - range.min;
      analyzer->Bind(iterator.var, Range{Const(var.dtype(), 0), extent});
      analyzer->Bind(var, iterator.var + range.min);
    }
    // A product of sizes is an extent only where none of them is negative or zero.
    for (const Expr& factor : iterator.extent.factors) {
      if (iterator.extent.factors.size() > 1 && isa<VarNode>(factor))
        analyzer->Assume(Const(factor.dtype(), 1) <= factor);
    }
    iterators_.push_back(std::move(iterator));
  }
}

std::vector<Expr> IterDomain::DomainValues() const {
  std::vector<Expr> values;
  values.reserve(domain_.size());
  for (const auto& [var, range] : domain_) values.push_back(analyzer_.Simplify(var));
  return values;
}

IterDomain::Iterator* IterDomain::FindIterator(const Expr& var) {
  for (Iterator& iterator : iterators_) {
    if (iterator.var.get() == var.get()) return &iterator;
  }
  return nullptr;
}

bool IterDomain::Apply(const Expr& predicate, Expr* failed) {
  std::vector<Expr> conditions;
  FlattenAnd(predicate, &conditions);
  // What bounds tiles alone comes before what bounds their elements: two loops that number the tiles are one iterator
  // then.
  std::multimap<ptrdiff_t, Expr> by_loops;
  for (const Expr& condition : conditions) {
    const auto used = std::ranges::count_if(domain_, [&](const auto& entry) {
      return UsesVar(condition, [&](const VarNode* var) { return var == entry.first.get(); });
    });
    by_loops.emplace(used, condition);
  }
  conditions.clear();
  for (const auto& [used, condition] : by_loops) conditions.push_back(condition);
  // A condition may become usable when another one has fused its iterators.
  while (!conditions.empty()) {
    bool progress = false;
    std::vector<Expr> left;
    for (const Expr& condition : conditions) {
      if (!ApplyOne(condition, &progress)) left.push_back(condition);
    }
    if (!progress && !DivideOne(left)) {
      *failed = left[0];
      return false;
    }
    conditions = std::move(left);
  }
  return true;
}

bool IterDomain::DivideOne(const std::vector<Expr>& conditions) {
  Iterator* divided = nullptr;
  Monomial divisor;
  std::optional<Monomial> quotient;
  for (const Expr& condition : conditions) {
    PreOrder(analyzer_.Simplify(condition), [&](const Expr& e) {
      const auto* op = dyn_cast<BinaryNode>(e);
      if (divided != nullptr || op == nullptr) return divided == nullptr;
      if (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod) return true;
      Iterator* iterator = FindIterator(op->a);
      if (iterator == nullptr || UsesIterators(op->b)) return true;
      divisor = Monomial::Of(op->b);
      if (divisor.scale <= 0 || divisor.IsOne()) return true;
      quotient = DivideExactly(iterator->extent, divisor);
      if (!quotient || quotient->IsOne()) return true;
      divided = iterator;
      return false;
    });
  }
  if (divided == nullptr) return false;
  const DataType type = divided->var.dtype();
  const Expr by = divisor.ToExpr(type);
  Iterator high{Var(divided->var.name() + "_high", type), *quotient, FloorDiv(divided->value, by)};
  Iterator low{Var(divided->var.name() + "_low", type), divisor, FloorMod(divided->value, by)};
  for (const Iterator& part : {high, low}) {
    analyzer_.context().BindRange(part.var, Range{Const(type, 0), part.extent.ToExpr(type)}, /*not_empty=*/false);
  }
  analyzer_.Bind(divided->var, high.var * by + low.var);
  const auto position = divided - iterators_.data();
  iterators_[static_cast<size_t>(position)] = std::move(high);
  iterators_.insert(iterators_.begin() + position + 1, std::move(low));
  return true;
}

bool IterDomain::UsesIterators(const Expr& e) const {
  return UsesVar(e, [&](const VarNode* var) {
    return std::ranges::any_of(iterators_, [&](const Iterator& i) { return i.var.get() == var; });
  });
}

bool IterDomain::ApplyOne(const Expr& condition, bool* progress) {
  Expr e = analyzer_.Simplify(condition);
  if (const auto* call = dyn_cast<CallNode>(e); call != nullptr && call->op == "likely") e = call->args[0];
  auto done = [&](bool applied) {
    *progress |= applied;
    return applied;
  };
  if (IsTrue(e)) return done(true);
  if (!UsesIterators(e)) {
    conditional_ = true;
    analyzer_.Assume(e);
    return done(true);
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || !op->a.dtype().is_index()) return false;
  if (op->op != BinaryOp::kLT && op->op != BinaryOp::kLE && op->op != BinaryOp::kEQ) return false;
  // a <= b as iterating <= limit, or limit <= iterating
  Context& context = analyzer_.context();
  Sum difference = context.ToSum(op->a);
  context.AddExpr(&difference, op->b, -1);
  if (op->op == BinaryOp::kLT) difference.AddBase(1);
  Sum iterating = Sum::Constant(difference.dtype, 0), limit = Sum::Constant(difference.dtype, 0);
  Sum rest = Sum::Constant(difference.dtype, difference.base);
  for (const Term& term : difference.terms) (UsesIterators(term.atom) ? iterating : rest).terms.push_back(term);
  bool above = iterating.terms[0].scale > 0;
  for (Term& term : iterating.terms) {
    if ((term.scale > 0) != above) return false;
    if (!above) term.scale = -term.scale;
  }
  context.AddSum(&limit, rest, above ? -1 : 1);
  if (limit.overflow || iterating.overflow) return false;
  if (op->op == BinaryOp::kEQ) return done(BoundAbove(iterating, limit) && BoundBelow(iterating, limit));
  return done(above ? BoundAbove(iterating, limit) : BoundBelow(iterating, limit));
}

void IterDomain::Replace(const std::vector<size_t>& replaced, Iterator by, const std::vector<Expr>& values) {
  Expr extent = by.extent.ToExpr(by.var.dtype());
  analyzer_.context().BindRange(by.var, Range{Const(by.var.dtype(), 0), extent}, /*not_empty=*/false);
  for (size_t i = 0; i < replaced.size(); ++i) analyzer_.Bind(iterators_[replaced[i]].var, values[i]);
  size_t position = *std::min_element(replaced.begin(), replaced.end());
  std::vector<Iterator> kept;
  for (size_t i = 0; i < iterators_.size(); ++i) {
    if (i == position) kept.push_back(by);
    if (std::find(replaced.begin(), replaced.end(), i) == replaced.end()) kept.push_back(iterators_[i]);
  }
  iterators_ = std::move(kept);
}

IterDomain::Iterator* IterDomain::AsIterator(const Sum& sum) {
  // After an equality's first half the sum may have become another one.
  Expr e = analyzer_.Simplify(SumToExpr(sum));
  Context& context = analyzer_.context();
  Sum current = context.ToSum(e);
  if (current.base != 0 || current.overflow || current.terms.empty()) return nullptr;
  // The terms from the least scale upwards.
  struct Part {
    size_t iterator;
    Monomial scale, extent;
  };
  std::vector<Part> rest, ordered;
  for (const Term& term : current.terms) {
    if (term.IsSplit()) return nullptr;
    Part part;
    const Iterator* iterator = nullptr;
    part.scale = Monomial(term.scale);
    for (const Expr& factor : ProductFactors(term.atom)) {
      if (const Iterator* found = FindIterator(factor)) {
        if (iterator != nullptr) return nullptr;
        iterator = found;
      } else {
        part.scale = part.scale * Monomial::Of(factor);
      }
    }
    if (iterator == nullptr) return nullptr;
    part.iterator = iterator - iterators_.data();
    part.extent = iterator->extent;
    rest.push_back(std::move(part));
  }
  Monomial expected;
  while (!rest.empty()) {
    auto next = std::find_if(rest.begin(), rest.end(), [&](const Part& part) {
      return part.scale == expected ||
             (!part.scale.IsConstant() &&
              analyzer_.CanProveEqual(part.scale.ToExpr(sum.dtype), expected.ToExpr(sum.dtype)));
    });
    if (next == rest.end()) return nullptr;
    expected = next->scale * next->extent;
    ordered.push_back(*next);
    rest.erase(next);
  }
  if (ordered.size() == 1) return &iterators_[ordered[0].iterator];
  Iterator fused;
  DataType dtype = sum.dtype;
  for (const Part& part : ordered) dtype = WiderType(dtype, iterators_[part.iterator].var.dtype());
  fused.var = Var(
      iterators_[ordered.back().iterator].var.name() + "_" + iterators_[ordered.front().iterator].var.name() + "_fused",
      dtype);
  fused.extent = expected;
  std::vector<size_t> replaced;
  std::vector<Expr> values;
  VarMap over_domain;
  for (const Part& part : ordered) {
    const Iterator& iterator = iterators_[part.iterator];
    Expr value = fused.var;
    if (!part.scale.IsOne()) value = FloorDiv(value, part.scale.ToExpr(dtype));
    if (&part != &ordered.back()) value = FloorMod(value, part.extent.ToExpr(dtype));
    replaced.push_back(part.iterator);
    values.push_back(value);
    over_domain[iterator.var] = CastTo(iterator.var.dtype(), iterator.value);
  }
  fused.value = Substitute(e, over_domain);
  Var var = fused.var;
  Replace(replaced, std::move(fused), values);
  return FindIterator(var);
}

bool IterDomain::BoundAbove(const Sum& sum, const Sum& limit) {
  Iterator* iterator = AsIterator(sum);
  if (iterator == nullptr) return false;
  Expr extent = analyzer_.Simplify(SumToExpr(limit) + Const(sum.dtype, 1));
  Expr old_extent = iterator->extent.ToExpr(sum.dtype);
  // An extent that is not known to be larger must not be narrowed to it.
  if (analyzer_.CanProveLessEqual(old_extent, extent)) return true;
  if (!analyzer_.CanProveLessEqual(extent, old_extent)) extent = analyzer_.Simplify(Min(extent, old_extent));
  iterator->extent = Monomial::Of(extent);
  analyzer_.context().BindRange(iterator->var, Range{Const(sum.dtype, 0), extent}, /*not_empty=*/false);
  return true;
}

bool IterDomain::BoundBelow(const Sum& sum, const Sum& limit) {
  Iterator* iterator = AsIterator(sum);
  if (iterator == nullptr) return false;
  Expr first = analyzer_.Simplify(SumToExpr(limit));
  if (analyzer_.CanProve(first <= Expr(0))) return true;
  if (!analyzer_.CanProve(Expr(0) <= first)) first = analyzer_.Simplify(Max(first, Const(sum.dtype, 0)));
  Iterator shifted;
  shifted.var = Var(iterator->var.name(), sum.dtype);
  shifted.extent = Monomial::Of(analyzer_.Simplify(iterator->extent.ToExpr(sum.dtype) - first));
  shifted.value = iterator->value - first;
  Expr value = shifted.var + first;
  Replace({static_cast<size_t>(iterator - iterators_.data())}, std::move(shifted), {value});
  return true;
}

}  // namespace tilewright::arith
