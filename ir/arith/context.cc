#include "ir/arith/context.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "ir/arith/same_expr.h"
#include "ir/builtin.h"

namespace tilewright::arith {
namespace {

// The bounds that scale * t + base >= 0 gives t.
Bounds SolveForTerm(int64_t scale, int64_t base) {
  Bounds bounds;
  if (scale > 0) {
    bounds.min = base == kNegInf ? kPosInf : -FloorDivInt(base, scale);
  } else if (scale != kNegInf) {
    bounds.max = FloorDivInt(base, -scale);
  }
  return bounds;
}

Term Unscaled(const Term& term) { return {term.atom, term.upper, term.lower, 1}; }

}  // namespace

const Context::Binding* Context::Find(const VarNode* var) const {
  if (index_.empty()) return nullptr;
  auto it = index_.find(var);
  return it == index_.end() || it->second < 0 ? nullptr : &bindings_[it->second];
}

void Context::Push(Binding&& binding) {
  if (index_.empty()) {
    index_.reserve(28);
    bindings_.reserve(16);
    undo_.reserve(32);
  }
  int& newest = index_.try_emplace(binding.var.get(), -1).first->second;
  binding.previous = newest;
  newest = static_cast<int>(bindings_.size());
  if (binding.symbolic) ++symbolic_bindings_;
  bindings_.push_back(std::move(binding));
  Changed(Undoable::kBinding);
}

void Context::BindRange(const Var& var, const Range& range, bool not_empty) {
  const Binding* old = Find(var.get());
  if (old != nullptr && old->value) return;  // The value says more than any range.
  Binding binding;
  if (old != nullptr) binding.bounds = old->bounds;
  auto min = range.min ? AsInt(range.min) : 0, extent = AsInt(range.extent);
  if (min && extent) {
    binding.bounds = Intersect(binding.bounds, {*min, SaturatingAdd(SaturatingAdd(*min, *extent), -1)});
    if (old != nullptr && binding.bounds == old->bounds) return;  // Nothing new.
  }
  binding.var = var;
  if (old != nullptr) binding.symbolic = old->symbolic;
  if (min && extent) return Push(std::move(binding));
  Sum least = range.min ? ToSum(range.min) : Sum::Constant(var.dtype(), 0);
  Sum size = ToSum(range.extent);
  Sum at_least_one = size;
  at_least_one.AddBase(-1);
  if (not_empty && !size.IsConstant() && !at_least_one.overflow) PushFact(at_least_one);
  Sum last = least;
  AddSum(&last, at_least_one, 1);
  binding.bounds = Intersect(binding.bounds, {BoundsOf(least).min, BoundsOf(last).max});
  if (!least.overflow && !last.overflow && !(least.IsConstant() && last.IsConstant())) {
    binding.symbolic = std::make_shared<SymbolicRange>(SymbolicRange{std::move(least), std::move(last)});
  }
  Push(std::move(binding));
}

void Context::BindValue(const Var& var, const Expr& value) {
  Binding binding;
  binding.var = var;
  binding.value = Simplify(value);
  if (value.dtype().is_integer()) binding.bounds = BoundsOf(binding.value);
  Push(std::move(binding));
}

void Context::BindName(const Var& var, const Expr& value) {
  Binding binding;
  binding.var = var;
  binding.bounds = value.dtype().is_integer() && value.dtype().is_scalar() ? BoundsOf(value) : Bounds{};
  binding.is_number = IsNumber(value);
  Push(std::move(binding));
}

void Context::Undo(size_t mark) {
  while (undo_.size() > mark) {
    version_ = undo_.back().version;
    switch (undo_.back().kind) {
      case Undoable::kBinding: {
        const Binding& binding = bindings_.back();
        index_[binding.var.get()] = binding.previous;
        if (binding.symbolic) --symbolic_bindings_;
        bindings_.pop_back();
        break;
      }
      case Undoable::kFact:
        facts_.pop_back();
        break;
      case Undoable::kAtomFact:
        atom_facts_.pop_back();
        break;
      case Undoable::kKnown:
        known_.pop_back();
        break;
    }
    undo_.pop_back();
  }
}

void Context::PushAtomFact(const Term& term, Bounds bounds) {
  if (const auto* var = dyn_cast<VarNode>(term.atom); var != nullptr && !term.IsSplit()) {
    Binding binding;
    binding.var = Var(var);
    if (const Binding* old = Find(var)) {
      binding.bounds = old->bounds;
      binding.symbolic = old->symbolic;
      binding.value = old->value;
    }
    Bounds narrowed = Intersect(binding.bounds, bounds);
    if (narrowed == binding.bounds) return;
    binding.bounds = narrowed;
    Push(std::move(binding));
    return;
  }
  Bounds known = BoundsOf(Unscaled(term)), narrowed = Intersect(known, bounds);
  if (narrowed == known) return;
  atom_facts_.push_back({Unscaled(term), narrowed});
  Changed(Undoable::kAtomFact);
  if (narrowed.min < 1) return;
  // x // 32 >= 1 is x >= 32.
  int64_t least;
  if (term.upper == kNoUpper && term.lower > 1 && !__builtin_mul_overflow(narrowed.min, -term.lower, &least)) {
    Sum dividend = ToSum(term.atom);
    dividend.AddBase(least);
    PushFact(std::move(dividend));
  }
  // A positive product of factors that are not negative has none that is zero.
  if (term.IsSplit()) return;
  const Factors factors = ProductFactors(term.atom);
  const bool signs_are_known =
      std::all_of(factors.begin(), factors.end(), [&](const Expr& factor) { return BoundsOf(factor).min >= 0; });
  if (factors.size() < 2 || !signs_are_known) return;
  for (const Expr& factor : factors) PushAtomFact({factor}, {1, kPosInf});
}

void Context::PushFact(Sum fact) {
  if (fact.overflow || fact.terms.empty()) return;
  if (fact.terms.size() == 1) {
    PushAtomFact(fact.terms[0], SolveForTerm(fact.terms[0].scale, fact.base));
    return;
  }
  // What the other terms leave for each variable.
  for (size_t i = 0; i < fact.terms.size(); ++i) {
    Bounds rest = Bounds::Point(fact.base);
    for (size_t j = 0; j < fact.terms.size(); ++j) {
      if (j != i) rest = rest + BoundsOf(fact.terms[j]);
    }
    if (rest.max == kPosInf) continue;
    PushAtomFact(fact.terms[i], SolveForTerm(fact.terms[i].scale, rest.max));
  }
  // The sum of the terms as an atom of its own, as it stands below a division.
  int64_t divisor = 0;
  const Term* largest = &fact.terms[0];
  for (const Term& term : fact.terms) {
    divisor = std::gcd(divisor, term.scale);
    if (std::llabs(term.scale) > std::llabs(largest->scale)) largest = &term;
  }
  if (largest->scale < 0) divisor = -divisor;
  Sum compound = fact;
  compound.base = 0;
  for (Term& term : compound.terms) term.scale /= divisor;
  if (Expr atom = SumToAtom(compound)) PushAtomFact({atom}, SolveForTerm(divisor, fact.base));
  facts_.push_back(std::move(fact));
  Changed(Undoable::kFact);
}

std::optional<int64_t> Context::KnownRemainder(const Expr& atom, int64_t modulus) const {
  for (const AtomFact& fact : atom_facts_) {
    bool known = fact.term.lower == 1 && fact.term.upper != kNoUpper && fact.term.upper % modulus == 0 &&
                 fact.bounds.IsPoint() && SameAtom(fact.term.atom, atom);
    if (known) return FloorModInt(fact.bounds.min, modulus);
  }
  return std::nullopt;
}

void Context::PushKnown(const Expr& condition, bool holds) {
  known_.push_back({condition, Outline(condition), holds});
  Changed(Undoable::kKnown);
}

std::optional<bool> Context::Lookup(const Expr& condition) const {
  if (known_.empty()) return std::nullopt;
  // Chains of choices know hundreds of conditions that differ in a constant.
  const uint64_t outline = Outline(condition);
  for (const Known& known : known_) {
    if (known.outline == outline && SameExpr(known.condition, condition)) return known.holds;
  }
  return std::nullopt;
}

void Context::Assume(const Expr& condition, bool holds) {
  if (!condition || HasEffect(condition)) return;
  // The parts of a conjunction one after the other: as a whole it would be simplified once more for each of them.
  if (const auto* whole = dyn_cast<BinaryNode>(condition); whole != nullptr && IsLogic(whole->op)) {
    if ((whole->op == BinaryOp::kAnd) == holds) {
      Assume(whole->a, holds);
      Assume(whole->b, holds);
      return;
    }
  }
  Expr e = Simplify(condition);
  if (const auto* negation = dyn_cast<NotNode>(e)) return Assume(negation->a, !holds);
  if (const auto* call = dyn_cast<CallNode>(e); call != nullptr && call->op == "likely") {
    return Assume(call->args[0], holds);
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || !(IsLogic(op->op) || IsComparison(op->op))) {
    if (!isa<IntImmNode>(e)) PushKnown(e, holds);
    return;
  }
  if (IsLogic(op->op)) {
    if ((op->op == BinaryOp::kAnd) == holds) {
      Expr a = op->a, b = op->b;
      Assume(a, holds);
      Assume(b, holds);
    } else {
      PushKnown(e, holds);
    }
    return;
  }
  PushKnown(e, holds);
  if (op->a.dtype().is_index()) PushFactsOf(*op, holds);
}

void Context::PushFactsOf(const BinaryNode& comparison, bool holds) {
  // difference = b - a
  Sum difference = ToSum(comparison.b);
  AddSum(&difference, ToSum(comparison.a), -1);
  Sum opposite = Sum::Constant(difference.dtype, 0);
  AddSum(&opposite, difference, -1);
  switch (comparison.op) {
    case BinaryOp::kEQ:
    case BinaryOp::kNE:
      if ((comparison.op == BinaryOp::kEQ) == holds) {
        PushFact(difference);
        PushFact(opposite);
      } else if (BoundsOf(difference).min == 0) {
        difference.AddBase(-1);
        PushFact(difference);
      } else if (BoundsOf(opposite).min == 0) {
        opposite.AddBase(-1);
        PushFact(opposite);
      }
      return;
    case BinaryOp::kLT:  // a < b: b - a - 1 >= 0; otherwise a - b >= 0
    case BinaryOp::kGE:
      if ((comparison.op == BinaryOp::kLT) == holds) {
        difference.AddBase(-1);
        PushFact(difference);
      } else {
        PushFact(opposite);
      }
      return;
    default:  // kLE, kGT
      if ((comparison.op == BinaryOp::kLE) == holds) {
        PushFact(difference);
      } else {
        opposite.AddBase(-1);
        PushFact(opposite);
      }
      return;
  }
}

}  // namespace tilewright::arith
