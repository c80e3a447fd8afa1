// Integers of index type in linear normal form.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

// Products of sums are multiplied out up to this number of terms.
constexpr size_t kMaxProductTerms = 16;

bool IsCompound(const Expr& atom) {
  const auto* op = dyn_cast<BinaryNode>(atom);
  return op != nullptr && op->op <= BinaryOp::kFloorMod;
}

// The divisors of `c` that may separate the terms of a sum into a high and a low part, largest first.
absl::InlinedVector<int64_t, 8> Radices(const Sum& sum, int64_t c) {
  absl::InlinedVector<int64_t, 8> radices;
  auto add = [&](int64_t g) {
    if (g > 1 && std::find(radices.begin(), radices.end(), g) == radices.end()) radices.push_back(g);
  };
  for (const Term& term : sum.terms) {
    int64_t g = std::gcd(term.scale, c);
    size_t known = radices.size();
    for (size_t i = 0; i < known; ++i) add(std::gcd(radices[i], g));
    add(g);
  }
  std::sort(radices.begin(), radices.end(), std::greater<>());
  return radices;
}

}  // namespace

Expr Context::SimplifyIndex(const Expr& e) {
  if (isa<IntImmNode>(e)) return e;
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const Binding* binding = Find(var);
    if (binding == nullptr || !(binding->value || binding->bounds.IsPoint())) return e;
  }
  Sum sum = ToSum(e);
  if (IsFormOf(sum, e)) return e;
  Expr result = FromSum(sum);
  if (!result || SameExpr(result, e)) return e;
  return result;
}

Sum Context::Opaque(const Expr& atom) const {
  Sum sum;
  sum.dtype = atom.dtype();
  Bounds bounds = BoundsOf(atom);
  if (bounds.IsPoint() && !HasEffect(atom)) {
    sum.base = bounds.min;
  } else {
    sum.terms.push_back({atom});
  }
  return sum;
}

void Context::AddTerm(Sum* sum, Term term) {
  if (term.scale == 0) return;
  if (!atom_facts_.empty() && term.upper == kNoUpper && term.lower > 1 && term.scale % term.lower == 0) {
    // x // c * c where x % c is known.
    if (auto remainder = KnownRemainder(term.atom, term.lower)) {
      int64_t scale = term.scale / term.lower, base;
      if (__builtin_mul_overflow(*remainder, -scale, &base)) sum->overflow = true;
      sum->AddBase(base);
      return AddExpr(sum, term.atom, scale);
    }
  }
  for (size_t i = 0; i < sum->terms.size(); ++i) {
    Term& other = sum->terms[i];
    if (!SameAtom(other.atom, term.atom)) continue;
    if (other.upper == term.upper && other.lower == term.lower) {
      if (__builtin_add_overflow(other.scale, term.scale, &other.scale)) sum->overflow = true;
      if (other.scale == 0) sum->terms.erase(sum->terms.begin() + i);
      return;
    }
    Term merged;
    if (term.scale == kNegInf || other.scale == kNegInf) continue;
    if (!MergeSplits(other, term, &merged)) continue;
    sum->terms.erase(sum->terms.begin() + i);
    if (IsCompound(merged.atom)) return AddCompoundSplit(sum, merged);
    return AddTerm(sum, std::move(merged));
  }
  if (MergeSymbolicSplits(sum, term)) return;
  sum->terms.push_back(std::move(term));
}

// A split of a compound atom may be simpler than its form: (i * 32 + j) % 32 is j % 32.
void Context::AddCompoundSplit(Sum* sum, const Term& split) {
  if (!split.IsSplit()) return AddExpr(sum, split.atom, split.scale);
  Sum value = ToSum(split.atom);
  auto is_final = [&] {
    return value.terms.size() == 1 && value.base == 0 && SameAtom(value.terms[0].atom, split.atom);
  };
  if (is_final()) return AddTerm(sum, split);
  if (split.upper != kNoUpper) {
    Sum modulo = Sum::Constant(sum->dtype, 0);
    DivMod(value, split.upper, nullptr, &modulo);
    value = std::move(modulo);
    if (is_final()) return AddTerm(sum, split);
  }
  if (split.lower != 1) {
    Sum quotient = Sum::Constant(sum->dtype, 0);
    DivMod(value, split.lower, &quotient, nullptr);
    value = std::move(quotient);
  }
  AddSum(sum, value, split.scale);
}

// a // c * c + a % c is a also where a % c has become something else than a split of the compound a: (i * 6 + j) % 2 is
// j % 2. Tries to put each such quotient together with its remainder and keeps what is simpler.
void Context::FoldCompounds(Sum* sum) {
  auto cost = [](const Sum& s) {
    int total = 0;
    for (const Term& t : s.terms) total += t.IsSplit() ? (IsCompound(t.atom) ? 4 : 2) : 1;
    return total;
  };
  bool progress = true;
  while (progress && !sum->overflow) {
    progress = false;
    for (size_t i = 0; i < sum->terms.size() && !progress; ++i) {
      const Term& part = sum->terms[i];
      if (part.lower == 1 || !IsCompound(part.atom) || std::llabs(part.scale) % part.lower != 0) continue;
      if (part.upper != kNoUpper && part.upper % part.lower != 0) continue;
      const Term term = part;
      Sum whole = ToSum(term.atom), open = whole;
      for (Term& digit : open.terms) {
        bool vanishes = digit.upper != kNoUpper && digit.lower == 1 &&
                        SaturatingMul(digit.upper, std::llabs(digit.scale)) % term.lower == 0;
        if (vanishes) digit.upper = kNoUpper;
      }
      for (const Sum* dividend : {&whole, &open}) {
        Sum candidate = *sum, low = Sum::Constant(sum->dtype, 0);
        candidate.terms.erase(candidate.terms.begin() + i);
        int64_t scale = term.scale / term.lower;
        DivMod(*dividend, term.lower, nullptr, &low);
        AddSum(&candidate, low, -scale);
        if (candidate.terms.size() + 1 + low.terms.size() > sum->terms.size()) continue;  // The remainder is not there.
        AddCompoundSplit(&candidate, {term.atom, term.upper, 1, scale});
        if (candidate.overflow || cost(candidate) >= cost(*sum)) continue;
        *sum = std::move(candidate);
        progress = true;
        break;
      }
    }
  }
}

void Context::AddSum(Sum* sum, Sum other, int64_t scale) {
  if (scale == 0) return;
  sum->overflow |= other.overflow;
  int64_t base;
  if (__builtin_mul_overflow(other.base, scale, &base)) {
    sum->overflow = true;
  } else {
    sum->AddBase(base);
  }
  for (Term& term : other.terms) {
    if (__builtin_mul_overflow(term.scale, scale, &term.scale)) sum->overflow = true;
    AddTerm(sum, std::move(term));
  }
}

void Context::AddExpr(Sum* sum, const Expr& e, int64_t scale) {
  if (const auto* imm = dyn_cast<IntImmNode>(e)) {
    int64_t value;
    if (__builtin_mul_overflow(imm->value, scale, &value)) sum->overflow = true;
    return sum->AddBase(value);
  }
  if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && scale != kNegInf) {
    if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) {
      AddExpr(sum, op->a, scale);
      AddExpr(sum, op->b, op->op == BinaryOp::kAdd ? scale : -scale);
      return;
    }
  }
  AddSum(sum, ToSum(e), scale);
}

namespace {

// Index types do not change what a sum is.
Sum&& InType(DataType dtype, Sum&& sum) {
  sum.dtype = dtype;
  return std::move(sum);
}

}  // namespace

Sum Context::ToSum(const Expr& e) {
  Sum sum;
  sum.dtype = e.dtype();
  switch (e->kind()) {
    case Kind::kIntImm:
      sum.base = cast<IntImmNode>(e)->value;
      return sum;
    case Kind::kVar: {
      const Binding* binding = Find(cast<VarNode>(e));
      if (binding != nullptr && binding->value) {
        Expr value = binding->value;  // Kept alive: the binding may move.
        return InType(e.dtype(), ToSum(value));
      }
      if (binding != nullptr && binding->bounds.IsPoint()) {
        sum.base = binding->bounds.min;
      } else {
        sum.terms.push_back({e});
      }
      return sum;
    }
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      const bool compound = isa<BinaryNode>(op->a) || isa<BinaryNode>(op->b);
      return InType(e.dtype(), compound ? RememberedToSum(op, e) : BinaryToSum(op, e));
    }
    case Kind::kCast:
      return CastToSum(cast<CastNode>(e), e);
    default: {
      Expr other = SimplifyOther(e);
      return other->kind() == e->kind() ? Opaque(other) : ToSum(other);
    }
  }
}

Sum Context::RememberedToSum(const BinaryNode* op, const Expr& self) {
  // In a proof less may be tried, since that is bounded.
  if (proof_depth_ > 0) return BinaryToSum(op, self);
  const size_t slot = (reinterpret_cast<size_t>(op) * 0x9e3779b97f4a7c15) >> 60;
  static_assert(kRememberedSums == 16);
  const std::unique_ptr<RememberedSum>& known = remembered_[slot];
  if (known != nullptr && known->version == version_ && known->e.get() == op) return known->sum;
  // What is assumed on the way has been forgotten at the end.
  Sum sum = BinaryToSum(op, self);
  remembered_[slot] = std::make_unique<RememberedSum>(RememberedSum{self, version_, sum});
  return sum;
}

Sum Context::BinaryToSum(const BinaryNode* op, const Expr& self) {
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      Sum sum = ToSum(op->a);
      AddExpr(&sum, op->b, op->op == BinaryOp::kAdd ? 1 : -1);
      if (sum.terms.size() > 1) {
        FoldCompounds(&sum);
        FoldMinMax(&sum);
      }
      return sum;
    }
    case BinaryOp::kMul: {
      if (auto scale = AsInt(op->b)) {
        Sum sum;
        sum.dtype = self.dtype();
        if (*scale == 0 && HasEffect(op->a)) return Opaque(self);
        AddExpr(&sum, op->a, *scale);
        return sum;
      }
      Sum a = ToSum(op->a), b = ToSum(op->b);
      if ((a.IsConstant() && a.base == 0 && HasEffect(self)) || (b.IsConstant() && b.base == 0 && HasEffect(self))) {
        return Opaque(self);
      }
      return Multiply(a, b);
    }
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return MinMaxToSum(op, self);
    default:
      return AsInt(op->b) ? DivisionToSum(op, self) : RememberedDivision(op, self);
  }
}

Sum Context::Multiply(const Sum& a, const Sum& b) {
  Sum product;
  product.dtype = a.dtype;
  if (b.IsConstant()) {
    AddSum(&product, a, b.base);
    return product;
  }
  if (a.IsConstant()) {
    AddSum(&product, b, a.base);
    return product;
  }
  auto loads = [](const Sum& sum) {
    return std::any_of(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return ReadsMemory(t.atom); });
  };
  bool one_by_one = a.terms.size() == 1 && b.terms.size() == 1 && a.base == 0 && b.base == 0;
  if (a.overflow || b.overflow ||
      (!one_by_one && (a.terms.size() * b.terms.size() > kMaxProductTerms || loads(a) || loads(b)))) {
    Expr left = SumToAtom(a), right = SumToAtom(b);
    product.overflow = !left || !right;
    if (!product.overflow) product.terms.push_back({left * right});
    return product;
  }
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      int64_t scale;
      Expr left = TermToExpr(x, 1, a.dtype), right = TermToExpr(y, 1, a.dtype);
      if (!left || !right || __builtin_mul_overflow(x.scale, y.scale, &scale)) {
        product.overflow = true;
        return product;
      }
      Factors factors = ProductFactors(left);
      for (const Expr& factor : ProductFactors(right)) factors.push_back(factor);
      AddTerm(&product, {MakeProduct(factors, a.dtype), kNoUpper, 1, scale});
    }
  }
  Sum terms = a;
  terms.base = 0;
  AddSum(&product, terms, b.base);
  AddSum(&product, b, a.base);
  return product;
}

// x = m * (x // m) + r with a known r: where c divides scale * m, only scale * r stays in the dividend.
void Context::TakeKnownRemainders(int64_t c, Sum* rest, Sum* quotient) {
  for (size_t i = 0; i < rest->terms.size();) {
    const Term term = rest->terms[i];
    int64_t modulus = c / std::gcd(c, term.scale), base;
    auto remainder = term.IsSplit() || modulus == 1 ? std::nullopt : KnownRemainder(term.atom, modulus);
    if (!remainder || __builtin_mul_overflow(*remainder, term.scale, &base)) {
      ++i;
      continue;
    }
    quotient->terms.push_back({term.atom, kNoUpper, modulus, term.scale / (c / modulus)});
    rest->terms.erase(rest->terms.begin() + i);
    rest->AddBase(base);
    quotient->AddBase(FloorDivInt(rest->base, c));
    rest->base = FloorModInt(rest->base, c);
  }
}

namespace {

// rest = c * quotient + remainder: the quotient, which `wanted` says is asked for, leaves the division. A fused index
// i * 12 + j stays whole: of a sum only terms that c divides leave. (i * 17 % 16 is i % 16, but i * 17 // 16 stays.)
Sum TakeQuotient(int64_t c, bool wanted, Sum* rest) {
  Sum quotient = Sum::Constant(rest->dtype, FloorDivInt(rest->base, c));
  rest->base = FloorModInt(rest->base, c);
  const bool alone = rest->terms.size() == 1 && !wanted;
  for (size_t i = 0; i < rest->terms.size();) {
    Term& term = rest->terms[i];
    const int64_t whole = alone || term.scale % c == 0 ? term.scale / c : 0;
    if (whole != 0) {
      if (wanted) {
        quotient.terms.push_back(term);
        quotient.terms.back().scale = whole;
      }
      term.scale -= whole * c;
    }
    if (term.scale == 0) {
      rest->terms.erase(rest->terms.begin() + i);
    } else {
      ++i;
    }
  }
  return quotient;
}

}  // namespace

void Context::DivMod(const Sum& a, int64_t c, Sum* div, Sum* mod, int64_t mod_scale) {
  Sum rest = a;
  auto add_mod = [&](const Sum& sum) {
    if (mod != nullptr) AddSum(mod, sum, mod_scale);
  };
  while (true) {
    Sum quotient = TakeQuotient(c, div != nullptr, &rest);
    if (!atom_facts_.empty()) TakeKnownRemainders(c, &rest, &quotient);
    if (div != nullptr) AddSum(div, quotient, 1);
    if (c == 1) return;
    // What is left lies between two multiples of c.
    Bounds bounds = BoundsOf(rest);
    if (bounds.IsFinite() && FloorDivInt(bounds.min, c) == FloorDivInt(bounds.max, c)) {
      int64_t k = FloorDivInt(bounds.min, c);
      if (div != nullptr) div->AddBase(k);
      rest.AddBase(-k * c);
      add_mod(rest);
      return;
    }
    // rest = radix * high + low with low between two multiples of the radix: the division goes on with high.
    bool separated = false;
    for (int64_t radix : Radices(rest, c)) {
      Sum low = Sum::Constant(rest.dtype, rest.base), high = Sum::Constant(rest.dtype, 0);
      for (const Term& term : rest.terms) {
        if (term.scale % radix == 0) {
          high.terms.push_back(term);
          high.terms.back().scale /= radix;
        } else {
          low.terms.push_back(term);
        }
      }
      Bounds low_bounds = BoundsOf(low);
      if (!low_bounds.IsFinite() || FloorDivInt(low_bounds.min, radix) != FloorDivInt(low_bounds.max, radix)) continue;
      high.base = FloorDivInt(low_bounds.min, radix);
      low.AddBase(-high.base * radix);
      add_mod(low);
      if (__builtin_mul_overflow(mod_scale, radix, &mod_scale)) rest.overflow = true;
      rest = std::move(high);
      c /= radix;
      separated = true;
      break;
    }
    if (!separated) break;
  }
  AddSplitOf(rest, c, div, mod, mod_scale);
}

void Context::AddSplitOf(const Sum& rest, int64_t c, Sum* div, Sum* mod, int64_t mod_scale) {
  if (rest.terms.size() == 1 && rest.base == 0 && rest.terms[0].scale == 1) {
    const Term& term = rest.terms[0];
    int64_t lower;
    if (!__builtin_mul_overflow(term.lower, c, &lower) && (term.upper == kNoUpper || term.upper % lower == 0)) {
      Term high{term.atom, term.upper, lower, 1}, low{term.atom, lower, term.lower, mod_scale};
      bool compound = IsCompound(term.atom);
      if (div != nullptr) compound ? AddCompoundSplit(div, high) : AddTerm(div, std::move(high));
      if (mod != nullptr) compound ? AddCompoundSplit(mod, low) : AddTerm(mod, std::move(low));
      return;
    }
  }
  Expr atom = SumToAtom(rest);
  if (!atom) {
    if (div != nullptr) div->overflow = true;
    if (mod != nullptr) mod->overflow = true;
    return;
  }
  if (div != nullptr) AddTerm(div, {atom, kNoUpper, c, 1});
  if (mod != nullptr) AddTerm(mod, {atom, c, 1, mod_scale});
}

Sum Context::RememberedDivision(const BinaryNode* op, const Expr& self) {
  constexpr size_t kMostDivisions = 1024;
  const uint64_t outline = Outline(self);
  if (const auto known = divisions_.find(outline); known != divisions_.end()) {
    const DivisionSum& division = known->second;
    // What was tried with more room left is at least as good.
    if (division.version == version_ && division.has_type_limits == has_type_limits_ &&
        division.in_inner_proof <= in_inner_proof_ && division.proof_depth <= proof_depth_ &&
        SameExpr(division.e, self)) {
      return division.sum;
    }
  }
  const DivisionSum here = {self, version_, has_type_limits_, in_inner_proof_, proof_depth_, {}};
  Sum sum = DivisionToSum(op, self);
  // A proof that ended because it had taken too many steps might be found from elsewhere.
  if (proof_depth_ > 0 && proof_steps_ > kMaxSteps) return sum;
  if (divisions_.size() >= kMostDivisions) divisions_.clear();
  DivisionSum& division = divisions_[outline] = here;
  division.sum = sum;
  return sum;
}

Sum Context::DivisionToSum(const BinaryNode* op, const Expr& self) {
  Sum a = ToSum(op->a), b = ToSum(op->b);
  bool modulo = op->op == BinaryOp::kMod || op->op == BinaryOp::kFloorMod;
  bool truncates = op->op == BinaryOp::kDiv || op->op == BinaryOp::kMod;
  if (a.overflow || b.overflow) return Opaque(self);
  if (truncates) {
    // Rounding towards zero and down agree where nothing is negative.
    Bounds bounds = BoundsOf(a), divisor = BoundsOf(b);
    if (b.IsConstant() && a.IsConstant() && b.base != 0 && !(a.base == kNegInf && b.base == -1)) {
      return Sum::Constant(self.dtype(), modulo ? a.base % b.base : a.base / b.base);
    }
    if (b.IsConstant() && b.base == 1) return modulo ? Sum::Constant(self.dtype(), 0) : a;
    if (bounds.min < 0 || divisor.min < 0 || (b.IsConstant() && b.base == 0)) {
      Expr left = SumToAtom(a), right = SumToAtom(b);
      return Opaque(left && right ? Rebuild(op, self, left, right) : self);
    }
  }
  Sum result;
  result.dtype = self.dtype();
  if (!b.IsConstant()) return SymbolicDivision(a, b, modulo, self);
  // The bounds of 64 bits stand for no bound: as an `upper`, the greatest number would be one that is not there.
  if (b.base == 0 || b.base == kNegInf || b.base == kPosInf || b.base == -kPosInf) return Opaque(self);
  if (b.base < 0) {  // a // -c = -a // c, a % -c = -(-a % c)
    Sum negated = Sum::Constant(a.dtype, 0);
    AddSum(&negated, a, -1);
    if (negated.overflow) return Opaque(self);
    DivMod(negated, -b.base, modulo ? nullptr : &result, modulo ? &result : nullptr, -1);
  } else {
    DivMod(a, b.base, modulo ? nullptr : &result, modulo ? &result : nullptr);
  }
  return result.overflow ? Opaque(self) : result;
}

Expr Context::Rebuild(const BinaryNode* op, const Expr& self, const Expr& a, const Expr& b) const {
  return SameExpr(a, op->a) && SameExpr(b, op->b) ? self : MakeBinary(op->op, a, b);
}

}  // namespace tilewright::arith
