// Proofs that a sum is never negative.
//
// A proof replaces parts of the sum by something smaller until constant bounds decide:
//
//   n * m - i * m - j - 1 >= 0    with i in [0, n), j in [0, m)
//   n * m - i * m - (m - 1) - 1   j is at most m - 1
//   n * m - (n - 1) * m - m = 0   i is at most n - 1, and its coefficient -m is not positive
//
// The search is bounded in depth and in steps: what is not found quickly counts as unproven.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"
#include "ir/substitute.h"

namespace tilewright::arith {
namespace {

constexpr int kMaxDepth = 10;
// A division that is simplified within a proof asks for proofs of its own: steps of each, and steps of the proof around
// that one counts for.
constexpr int kInnerSteps = 40;
constexpr int kStepsOfInnerProof = 3;

// Whether the sum holds something that the proof rules could work on.
bool IsPlain(const Sum& sum) {
  return std::all_of(sum.terms.begin(), sum.terms.end(),
                     [](const Term& t) { return isa<VarNode>(t.atom) && !t.IsSplit(); });
}

// The same for the same terms in any order.
size_t HashOf(const Sum& sum) {
  constexpr size_t kMultiplier = 0x9e3779b97f4a7c15;
  const auto mix = [](size_t hash, size_t value) { return (hash ^ value ^ (value >> 29)) * kMultiplier; };
  size_t hash = mix(static_cast<size_t>(sum.base), sum.terms.size());
  for (const Term& term : sum.terms) {
    size_t own = mix(kMultiplier, reinterpret_cast<size_t>(term.atom.get()));
    for (const int64_t value : {term.upper, term.lower, term.scale}) own = mix(own, static_cast<size_t>(value));
    hash += own;
  }
  return hash;
}

bool AreSame(const Sum& a, const Sum& b) {
  return a.dtype == b.dtype && a.base == b.base && a.terms.size() == b.terms.size() &&
         std::ranges::all_of(a.terms, [&](const Term& x) {
           return std::ranges::any_of(b.terms, [&](const Term& y) {
             return x.atom.same_as(y.atom) && x.upper == y.upper && x.lower == y.lower && x.scale == y.scale;
           });
         });
}

// What was not proven within the proof under way, and how deep inside of it that was: the same facts are subtracted in
// every order.
class Unproven {
 public:
  // What is known, and the sum's hash.
  struct Key {
    const Context* context;
    uint64_t version;
    size_t hash;
    friend bool operator==(const Key&, const Key&) = default;
  };
  void Clear() { all_.clear(); }
  bool Contains(const Key& key, int depth, const Sum& sum) const {
    return std::ranges::any_of(
        all_, [&](const Entry& known) { return known.key == key && known.depth <= depth && AreSame(known.sum, sum); });
  }
  void Add(const Key& key, int depth, const Sum& sum) { all_.push_back({key, depth, sum}); }

 private:
  struct Entry {
    Key key;
    int depth;
    Sum sum;
  };
  std::vector<Entry> all_;
};
thread_local Unproven unproven;

}  // namespace

bool Context::ProveNonNegative(const Sum& sum) {
  Bounds bounds = BoundsOf(sum);
  if (bounds.min >= 0) return true;
  if (sum.overflow || bounds.max < 0 || sum.terms.empty()) return false;
  if (symbolic_bindings_ == 0 && facts_.empty() && IsPlain(sum)) return false;
  if (proof_depth_ == 0) proof_steps_ = 0;
  if (proof_depth_ == 0 || in_inner_proof_) return ProveStep(sum);
  const int steps = std::exchange(proof_steps_, kMaxSteps - kInnerSteps);
  in_inner_proof_ = true;
  const bool proven = ProveStep(sum);
  in_inner_proof_ = false;
  proof_steps_ = steps + kStepsOfInnerProof;
  return proven;
}

bool Context::ProveStep(const Sum& sum) {
  if (sum.overflow) return false;
  Bounds bounds = BoundsOf(sum);
  if (bounds.min >= 0) return true;
  if (bounds.max < 0 || proof_depth_ >= kMaxDepth) return false;
  const auto key = [&] { return Unproven::Key{this, 2 * version_ + (has_type_limits_ ? 1 : 0), HashOf(sum)}; };
  if (proof_depth_ == 0) unproven.Clear();
  if (unproven.Contains(key(), proof_depth_, sum) || ++proof_steps_ > kMaxSteps) return false;
  ++proof_depth_;
  bool by_cases = false, proven = ProveByCases(sum, &by_cases);
  // Telling cases apart loses nothing but what takes the whole choice away: the end of a loop that runs as far.
  if (!proven) proven = by_cases ? ProveByElimination(sum) : ProveByCommonFactor(sum) || ProveByElimination(sum);
  if (!by_cases) proven = proven || ProveByFacts(sum) || ProveByAtoms(sum);
  --proof_depth_;
  // A proof that ended because it had taken too many steps might be found from here.
  if (!proven && proof_steps_ <= kMaxSteps) unproven.Add(key(), proof_depth_, sum);
  return proven;
}

// 64 * (a - b) - x - 1 >= 0 with x in [0, 64) where a - b - 1 >= 0: what has no bounds is a multiple of a factor, and
// what is left is replaced by its least value.
bool Context::ProveByCommonFactor(const Sum& sum) {
  int64_t factor = 0;
  for (const Term& term : sum.terms) {
    const Bounds bounds = BoundsOf(term);
    if (!bounds.IsFinite()) factor = std::gcd(factor, term.scale);
  }
  if (factor < 2) return false;
  Sum multiples = Sum::Constant(sum.dtype, 0), rest = Sum::Constant(sum.dtype, sum.base);
  for (const Term& term : sum.terms) {
    if (term.scale % factor != 0) {
      rest.terms.push_back(term);
      continue;
    }
    multiples.terms.push_back(term);
    multiples.terms.back().scale /= factor;
  }
  const Bounds least = BoundsOf(rest);
  if (least.min == kNegInf) return false;
  multiples.AddBase(FloorDivInt(least.min, factor));
  return ProveStep(multiples);
}

bool Context::TakeVariableOut(const Sum& sum, const VarNode* var, Sum* coefficient, Sum* rest) {
  *coefficient = Sum::Constant(sum.dtype, 0);
  *rest = Sum::Constant(sum.dtype, sum.base);
  const auto is_var = [&](const Expr& e) { return e.get() == var; };
  for (const Term& term : sum.terms) {
    Factors factors;
    if (!term.IsSplit()) factors = ProductFactors(term.atom);
    const auto it = std::find_if(factors.begin(), factors.end(), is_var);
    if (it == factors.end()) {
      rest->terms.push_back(term);
      continue;
    }
    factors.erase(it);
    if (std::any_of(factors.begin(), factors.end(), is_var)) return false;
    if (factors.empty()) {
      coefficient->AddBase(term.scale);
    } else {
      AddExpr(coefficient, MakeProduct(factors, sum.dtype), term.scale);
    }
  }
  return true;
}

// Replaces a bound variable by the end of its range that makes the sum least.
bool Context::ProveByElimination(const Sum& sum) {
  struct Candidate {
    int binding;
    const VarNode* var;
  };
  absl::InlinedVector<Candidate, 8> candidates;
  for (const Term& term : sum.terms) {
    if (term.IsSplit()) continue;
    Factors factors = ProductFactors(term.atom);
    for (const Expr& factor : factors) {
      const auto* var = dyn_cast<VarNode>(factor);
      const Binding* binding = var == nullptr ? nullptr : Find(var);
      if (binding == nullptr || !(binding->symbolic || (factors.size() > 1 && (binding->bounds.min != kNegInf ||
                                                                               binding->bounds.max != kPosInf)))) {
        continue;
      }
      int position = static_cast<int>(binding - bindings_.data());
      bool seen = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.var == var; });
      if (!seen) candidates.push_back({position, var});
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.binding > b.binding; });
  for (const Candidate& candidate : candidates) {
    Sum coefficient, rest;
    if (!TakeVariableOut(sum, candidate.var, &coefficient, &rest)) continue;
    Bounds sign = BoundsOf(coefficient);
    bool positive = sign.min >= 0 || (sign.max > 0 && ProveStep(coefficient));
    bool negative = !positive && sign.max <= 0;
    if (!positive && !negative) {
      Sum opposite = Sum::Constant(sum.dtype, 0);
      AddSum(&opposite, coefficient, -1);
      negative = ProveStep(opposite);
      if (!negative) continue;
    }
    const Binding& binding = bindings_[candidate.binding];
    Sum end;
    if (binding.symbolic) {
      end = positive ? binding.symbolic->min : binding.symbolic->max;
    } else {
      int64_t value = positive ? binding.bounds.min : binding.bounds.max;
      if (value == kNegInf || value == kPosInf) continue;
      end = Sum::Constant(sum.dtype, value);
    }
    AddSum(&rest, Multiply(coefficient, end), 1);
    if (ProveStep(rest)) return true;
  }
  return false;
}

// Subtracts a multiple of a known fact so that one term goes away.
bool Context::ProveByFacts(const Sum& sum) {
  if (proof_depth_ > 3) return false;
  for (size_t i = 0, count = facts_.size(); i < count; ++i) {
    int64_t of_fact = 0, of_sum = 0;
    for (const Term& term : facts_[i].terms) {
      const auto it = std::ranges::find_if(sum.terms, [&](const Term& t) {
        return t.upper == term.upper && t.lower == term.lower && (t.scale > 0) == (term.scale > 0) &&
               SameAtom(t.atom, term.atom);
      });
      if (it == sum.terms.end() || it->scale == kNegInf || term.scale == kNegInf) continue;
      of_fact = std::llabs(term.scale), of_sum = std::llabs(it->scale);
      break;
    }
    if (of_fact == 0) continue;
    const Sum fact = facts_[i];  // A copy: simplifying a choice between two values assumes its condition for a while.
    Sum rest = Sum::Constant(sum.dtype, 0);
    AddSum(&rest, sum, of_fact);
    AddSum(&rest, fact, -of_sum);
    if (ProveStep(rest)) return true;
  }
  return false;
}

bool Context::ProveWithAtom(const Sum& sum, size_t term, const Expr& atom) {
  Sum replaced = sum;
  int64_t scale = sum.terms[term].scale;
  replaced.terms.erase(replaced.terms.begin() + term);
  AddExpr(&replaced, atom, scale);
  return ProveStep(replaced);
}

// With each value of the one variable that the condition of a choice depends on, if they are few: the window of an
// adaptive pooling ends at Select((v * 10 + 10) % 3 == 0, (v * 10 + 10) // 3, (v * 10 + 10) // 3 + 1).
bool Context::ProveForEachValue(const Sum& sum, const Expr& condition) {
  constexpr int64_t kMostValues = 64;
  Var var;
  const bool is_one = !UsesVar(condition, [&](const VarNode* used) {
    if (!var) var = Var(used);
    return used != var.get();
  });
  if (!var || !is_one) return false;
  const Bounds bounds = BoundsOf(var);
  if (!bounds.IsFinite() || bounds.max - bounds.min >= kMostValues) return false;
  for (int64_t value = bounds.min; value <= bounds.max; ++value) {
    Sum with_value = Sum::Constant(sum.dtype, sum.base);
    for (const Term& term : sum.terms) {
      const Expr e = TermToExpr(term, 1, sum.dtype);
      if (!e) return false;
      AddExpr(&with_value, Substitute(e, {{var, Const(var.dtype(), value)}}), term.scale);
    }
    if (!ProveStep(with_value)) return false;
  }
  return true;
}

// Whether a choice's value makes the sum never negative where its condition holds, or where it does not:
// n - 1 - Select(n == 1, 0, v) >= 0 with v in [0, Select(n == 1, m, n)).
bool Context::ProveInCase(const Sum& sum, size_t choice, const SelectNode& select, bool holds) {
  const size_t before = mark();
  Assume(select.condition, holds);
  // What other terms choose by the same condition is known now.
  Sum known = Sum::Constant(sum.dtype, sum.base);
  bool understood = true;
  for (size_t i = 0; i < sum.terms.size() && understood; ++i) {
    const Term& term = sum.terms[i];
    const Expr e = i == choice ? holds ? select.true_value : select.false_value : TermToExpr(term, 1, sum.dtype);
    understood = static_cast<bool>(e);
    if (understood) AddExpr(&known, e, term.scale);
  }
  const bool proven = understood && ProveStep(known);
  Undo(before);
  return proven;
}

// Replaces choices between two values by each of them: both cases must hold.
bool Context::ProveByCases(const Sum& sum, bool* applies) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& term = sum.terms[i];
    if (term.IsSplit()) continue;
    if (const Expr atom = term.atom; const auto* select = dyn_cast<SelectNode>(atom)) {
      *applies = true;
      if (const auto holds = Lookup(select->condition)) {
        return ProveWithAtom(sum, i, *holds ? select->true_value : select->false_value);
      }
      if (ProveWithAtom(sum, i, select->true_value) && ProveWithAtom(sum, i, select->false_value)) return true;
      if (ProveForEachValue(sum, select->condition)) return true;
      // A condition on memory holds at its own time only.
      return !ReadsMemory(select->condition) && ProveInCase(sum, i, *select, true) &&
             ProveInCase(sum, i, *select, false);
    }
    const auto* op = dyn_cast<BinaryNode>(term.atom);
    if (op == nullptr) continue;
    if ((op->op == BinaryOp::kMin && term.scale > 0) || (op->op == BinaryOp::kMax && term.scale < 0)) {
      *applies = true;
      return ProveWithAtom(sum, i, op->a) && ProveWithAtom(sum, i, op->b);
    }
  }
  return false;
}

bool Context::ProvePositive(const Expr& e) {
  if (BoundsOf(e).min > 0) return true;
  Sum sum = ToSum(e);
  sum.AddBase(-1);
  return ProveStep(sum);
}

// rest + scale * (a // b) >= 0 for positive b: h - 1 - f // w >= 0 follows from h * w - f - 1 >= 0.
bool Context::ProveWithQuotient(const Sum& rest, int64_t scale, const BinaryNode& quotient) {
  const int64_t size = std::llabs(scale);
  const bool exact =
      std::all_of(rest.terms.begin(), rest.terms.end(), [&](const Term& t) { return t.scale % size == 0; });
  Sum divisor = ToSum(quotient.b), sum = rest;
  if (exact) {
    // floor(rest / size) + a // b >= 0 is floor(rest / size) * b + a >= 0; for the negated quotient it is
    // (floor(rest / size) + 1) * b - a - 1 >= 0.
    for (Term& term : sum.terms) term.scale /= size;
    sum.base = FloorDivInt(sum.base, size);
    if (scale < 0) sum.AddBase(1);
    sum = Multiply(sum, divisor);
    AddExpr(&sum, quotient.a, scale > 0 ? 1 : -1);
    if (scale < 0) sum.AddBase(-1);
    return ProveStep(sum);
  }
  // a - b + 1 <= b * (a // b) <= a
  sum = Multiply(sum, divisor);
  AddExpr(&sum, quotient.a, scale);
  if (scale > 0) {
    AddSum(&sum, divisor, -scale);
    sum.AddBase(scale);
  }
  return ProveStep(sum);
}

// Replaces divisions, minima and maxima by what they are at least or at most.
bool Context::ProveByAtoms(const Sum& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& term = sum.terms[i];
    if (term.scale == kNegInf) continue;
    Sum rest = sum;
    rest.terms.erase(rest.terms.begin() + i);
    if (term.upper == kNoUpper && term.lower > 1) {
      // x - (c - 1) <= c * (x // c) <= x. Exact for a single quotient: rest + x // c >= 0 is c * rest + x >= 0, and
      // rest - x // c >= 0 is c * rest - x + c - 1 >= 0.
      Sum scaled = Sum::Constant(sum.dtype, 0);
      AddSum(&scaled, rest, term.lower);
      AddExpr(&scaled, term.atom, term.scale);
      if (term.scale > 1) scaled.AddBase(SaturatingMul(term.scale, 1 - term.lower));
      if (term.scale == -1) scaled.AddBase(term.lower - 1);
      if (ProveStep(scaled)) return true;
      continue;
    }
    if (term.upper != kNoUpper) {
      if (term.lower != 1 || term.scale > 0 || BoundsOf(term.atom).min < 0) continue;
      if (ProveWithAtom(sum, i, term.atom)) return true;  // x % c <= x
      continue;
    }
    const auto* op = dyn_cast<BinaryNode>(term.atom);
    if (op == nullptr) continue;
    if ((op->op == BinaryOp::kMax && term.scale > 0) || (op->op == BinaryOp::kMin && term.scale < 0)) {
      // max(a, b) is at least a, and at least b.
      if (ProveWithAtom(sum, i, op->a) || ProveWithAtom(sum, i, op->b)) return true;
      continue;
    }
    if (op->op == BinaryOp::kFloorDiv && ProvePositive(op->b)) {
      if (ProveWithQuotient(rest, term.scale, *op)) return true;
      continue;
    }
    if (op->op == BinaryOp::kFloorMod && ProvePositive(op->b)) {
      // 0 <= x % n <= n - 1
      if (ProveWithAtom(sum, i, term.scale > 0 ? Const(sum.dtype, 0) : op->b - 1)) return true;
      continue;
    }
    if (op->op == BinaryOp::kMul) {
      // x - n + 1 <= (x // n) * n <= x for positive n
      Factors factors = ProductFactors(term.atom);
      for (const Expr& factor : factors) {
        const auto* div = dyn_cast<BinaryNode>(factor);
        if (div == nullptr || div->op != BinaryOp::kFloorDiv || !ProvePositive(div->b)) continue;
        Sum product = Multiply(Opaque(factor), ToSum(div->b));
        if (product.terms.size() != 1 || product.base != 0 || product.overflow ||
            !SameAtom(product.terms[0].atom, term.atom) || term.scale % product.terms[0].scale != 0) {
          continue;
        }
        int64_t scale = term.scale / product.terms[0].scale;
        AddExpr(&rest, div->a, scale);
        if (scale > 0) {
          AddExpr(&rest, div->b, -scale);
          rest.AddBase(scale);
        }
        return ProveStep(rest);
      }
    }
  }
  return false;
}

bool Context::Prove(const Expr& condition) {
  if (!condition) return true;
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op != nullptr && known_.empty() && op->a.dtype().is_index()) {
    switch (op->op) {
      case BinaryOp::kLT:
      case BinaryOp::kLE:
        return ProveInequality(op->a, op->b, op->op == BinaryOp::kLT);
      case BinaryOp::kGT:
      case BinaryOp::kGE:
        return ProveInequality(op->b, op->a, op->op == BinaryOp::kGT);
      case BinaryOp::kEQ: {
        Sum difference = ToSum(op->a);
        AddExpr(&difference, op->b, -1);
        return !difference.overflow && DecideZero(difference) == true;
      }
      default:
        break;
    }
  }
  return IsTrue(Simplify(condition));
}

bool Context::ProveInequality(const Expr& a, const Expr& b, bool strict) {
  if (a.dtype().is_index() && b.dtype().is_index()) {
    Sum room = ToSum(a);
    AddExpr(&room, b, -1);
    if (strict) room.AddBase(1);
    room.Negate();
    if (ProveNonNegative(room)) return true;
    if (known_.empty()) return false;
  }
  // An assumption that stands for itself is found by the condition.
  return IsTrue(Simplify(strict ? a < b : a <= b));
}

std::optional<bool> Context::DecideZero(const Sum& sum) {
  Bounds bounds = BoundsOf(sum);
  if (bounds == Bounds::Point(0)) return true;
  if (bounds.min > 0 || bounds.max < 0) return false;
  if (sum.overflow || (symbolic_bindings_ == 0 && facts_.empty() && IsPlain(sum))) return std::nullopt;
  Sum opposite = Sum::Constant(sum.dtype, 0);
  AddSum(&opposite, sum, -1);
  if (ProveNonNegative(sum)) {
    if (ProveNonNegative(opposite)) return true;
    Sum less = sum;
    less.AddBase(-1);
    if (ProveNonNegative(less)) return false;
    return std::nullopt;
  }
  opposite.AddBase(-1);
  if (ProveNonNegative(opposite)) return false;
  return std::nullopt;
}

}  // namespace tilewright::arith
