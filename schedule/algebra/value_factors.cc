#include "schedule/algebra/value_factors.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using Addend = ValueFactor::Addend;
using Exponential = ValueFactor::Exponential;

bool IsOneValue(const Expr& e) {
  const auto* imm = dyn_cast<FloatImmNode>(e);
  return imm != nullptr && imm->value == 1;
}

// The product or quotient of two rests, without factors of one.
Expr CombineRests(BinaryOp op, const Expr& a, const Expr& b) {
  if (IsOneValue(b) && (op == BinaryOp::kMul || op == BinaryOp::kDiv)) return a;
  if (IsOneValue(a) && op == BinaryOp::kMul) return b;
  return MakeBinary(op, a, b);
}

bool IsExponential(const CallNode& call) { return call.op == "exp" || call.op == "exp2"; }

// Addends with and without m; both add up to the expression.
struct Addends {
  std::vector<Addend> with, without;
};

class Factoring {
 public:
  Factoring(const Var& m, const std::function<bool(const Expr&)>& is_fixed) : m_(m), is_fixed_(is_fixed) {}

  Expr refused;  // the part that has no factor, after a failure

  std::optional<FactoredValue> Factor(const Expr& e) {
    if (!UsesVar(e, m_)) return FactoredValue{e, {}};
    if (std::optional<FactoredValue> found = FactorParts(e)) return found;
    if (IsFixedBesideM(e)) {
      refused = Expr();
      return FactoredValue{Const(e.dtype(), 1), {.exponentials = {}, .over = {e}, .under = {}}};
    }
    if (!refused) refused = e;
    return std::nullopt;
  }

 private:
  std::optional<FactoredValue> FactorParts(const Expr& e) {
    if (const auto* op = dyn_cast<BinaryNode>(e)) return FactorBinary(*op, e);
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      const bool floats = e.dtype().is_float() && cast_node->value.dtype().is_float();
      std::optional<FactoredValue> inner = floats ? Factor(cast_node->value) : std::nullopt;
      if (inner) inner->rest = CastTo(e.dtype(), inner->rest);
      return inner;
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return FactorChoice(select->condition, select->true_value, select->false_value, false);
    }
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr) return std::nullopt;
    if (call->op == kIfThenElse) return FactorChoice(call->args[0], call->args[1], call->args[2], true);
    if (!IsExponential(*call) || e.dtype().lanes() != 1) return std::nullopt;
    std::optional<Addends> addends = Split(call->args[0], false);
    if (!addends || addends->with.empty()) return std::nullopt;
    Expr rest = addends->without.empty() ? Const(e.dtype(), 1) : Call(e.dtype(), call->op, {SumOf(addends->without)});
    FactoredValue found{std::move(rest), {}};
    found.factor.exponentials.push_back({call->op, std::move(addends->with), std::move(addends->without)});
    return found;
  }

  std::optional<FactoredValue> FactorBinary(const BinaryNode& op, const Expr& e) {
    const bool product = op.op == BinaryOp::kMul || op.op == BinaryOp::kDiv;
    if (!product && op.op != BinaryOp::kAdd && op.op != BinaryOp::kSub) return std::nullopt;
    if (!e.dtype().is_float()) return std::nullopt;
    // 0 - f
    if (op.op == BinaryOp::kSub && IsZero(op.a)) {
      std::optional<FactoredValue> b = Factor(op.b);
      if (b) b->rest = op.a - b->rest;
      return b;
    }
    std::optional<FactoredValue> a = Factor(op.a), b = a ? Factor(op.b) : std::nullopt;
    if (!a || !b) return std::nullopt;
    a->rest = CombineRests(op.op, a->rest, b->rest);
    if (!product) {
      if (SameFactor(a->factor, b->factor)) return a;
      refused = e;
      return std::nullopt;
    }
    const bool inverted = op.op == BinaryOp::kDiv;
    // 1 / exp(y) has the exponent -y.
    for (Exponential& exponential : b->factor.exponentials) {
      if (inverted) {
        for (Addend& addend : exponential.addends) addend.negative = !addend.negative;
        for (Addend& addend : exponential.others) addend.negative = !addend.negative;
      }
      a->factor.exponentials.push_back(std::move(exponential));
    }
    const auto append = [](std::vector<Expr>& to, const std::vector<Expr>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(inverted ? a->factor.under : a->factor.over, b->factor.over);
    append(inverted ? a->factor.over : a->factor.under, b->factor.under);
    return a;
  }

  std::optional<FactoredValue> FactorChoice(const Expr& condition, const Expr& a, const Expr& b, bool lazy) {
    std::optional<FactoredValue> x = Factor(a), y = x ? Factor(b) : std::nullopt;
    if (!x || !y) return std::nullopt;
    const bool zero_x = IsZero(a), zero_y = IsZero(b);
    if (UsesVar(condition, m_)) {
      if (zero_x == zero_y || !is_fixed_(condition)) return std::nullopt;
      return FactorDecided(condition, zero_x ? *std::move(y) : *std::move(x), zero_x);
    }
    if (!zero_x && !zero_y && !SameFactor(x->factor, y->factor)) return std::nullopt;
    Expr rest = lazy ? IfThenElse(condition, x->rest, y->rest) : Select(condition, x->rest, y->rest);
    return FactoredValue{std::move(rest), zero_x ? std::move(y->factor) : std::move(x->factor)};
  }

  // m alone decides whether the value is zero: so does it whether the factor is.
  std::optional<FactoredValue> FactorDecided(const Expr& condition, FactoredValue value, bool zero_first) {
    if (!value.factor.exponentials.empty()) return std::nullopt;
    const DataType type = value.rest.dtype();
    const Expr factor = FactorAt(value.factor, m_, m_, type), zero = Const(type, 0);
    const Expr decided = zero_first ? Select(condition, zero, factor) : Select(condition, factor, zero);
    return FactoredValue{std::move(value.rest), {.exponentials = {}, .over = {decided}, .under = {}}};
  }

  std::optional<Addends> Split(const Expr& e, bool negative) {
    Addends found;
    if (!UsesVar(e, m_)) {
      found.without.push_back({e, negative});
      return found;
    }
    const auto* op = dyn_cast<BinaryNode>(e);
    if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub)) {
      std::optional<Addends> a = Split(op->a, negative), b = Split(op->b, negative != (op->op == BinaryOp::kSub));
      if (!a || !b) return std::nullopt;
      a->with.insert(a->with.end(), b->with.begin(), b->with.end());
      a->without.insert(a->without.end(), b->without.begin(), b->without.end());
      return a;
    }
    if (op != nullptr && op->op == BinaryOp::kMul && IsFixed(op->a)) return Scale(*op, op->b, negative, true);
    if (op != nullptr && (op->op == BinaryOp::kMul || op->op == BinaryOp::kDiv) && IsFixed(op->b)) {
      return Scale(*op, op->a, negative, false);
    }
    if (IsFixedBesideM(e)) {
      found.with.push_back({e, negative});
      return found;
    }
    refused = e;
    return std::nullopt;
  }

  // c * (x - m) is c * x - c * m.
  std::optional<Addends> Scale(const BinaryNode& op, const Expr& scaled, bool negative, bool scale_first) {
    std::optional<Addends> found = Split(scaled, negative);
    if (!found) return std::nullopt;
    for (std::vector<Addend>* addends : {&found->with, &found->without}) {
      for (Addend& addend : *addends) {
        if (IsZero(addend.value)) continue;
        addend.value = scale_first ? MakeBinary(op.op, op.a, addend.value) : MakeBinary(op.op, addend.value, op.b);
      }
    }
    return found;
  }

  static Expr SumOf(const std::vector<Addend>& addends) {
    Expr sum;
    for (const Addend& addend : addends) {
      if (!sum) {
        sum = addend.negative ? Const(addend.value.dtype(), 0) - addend.value : addend.value;
      } else {
        sum = addend.negative ? sum - addend.value : sum + addend.value;
      }
    }
    return sum;
  }

  bool IsFixed(const Expr& e) const { return !UsesVar(e, m_) && is_fixed_(e); }
  bool IsFixedBesideM(const Expr& e) const { return e.dtype().is_float() && is_fixed_(e); }

  const Var& m_;
  const std::function<bool(const Expr&)>& is_fixed_;
};

bool SameAddends(const std::vector<Addend>& a, const std::vector<Addend>& b) {
  return std::ranges::equal(a, b, [](const Addend& x, const Addend& y) {
    return x.negative == y.negative && StructuralEqual(x.value, y.value);
  });
}

// The value of an expression of constants.
std::optional<double> NumberOf(const Expr& e) {
  if (const auto* imm = dyn_cast<FloatImmNode>(e)) return imm->value;
  if (const auto* imm = dyn_cast<IntImmNode>(e)) return static_cast<double>(imm->value);
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return NumberOf(cast_node->value);
  if (const auto* op = dyn_cast<BinaryNode>(e)) {
    const std::optional<double> a = NumberOf(op->a), b = NumberOf(op->b);
    if (!a || !b) return std::nullopt;
    switch (op->op) {
      case BinaryOp::kAdd:
        return *a + *b;
      case BinaryOp::kSub:
        return *a - *b;
      case BinaryOp::kMul:
        return *a * *b;
      case BinaryOp::kDiv:
        return *a / *b;
      case BinaryOp::kMin:
        return std::min(*a, *b);
      case BinaryOp::kMax:
        return std::max(*a, *b);
      default:
        return std::nullopt;
    }
  }
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->args.size() != 1) return std::nullopt;
  const std::optional<double> x = NumberOf(call->args[0]);
  if (!x) return std::nullopt;
  if (call->op == "sqrt") return std::sqrt(*x);
  if (call->op == "rsqrt") return 1 / std::sqrt(*x);
  if (call->op == "exp") return std::exp(*x);
  if (call->op == "exp2") return std::exp2(*x);
  if (call->op == "log") return std::log(*x);
  if (call->op == "abs") return std::abs(*x);
  return std::nullopt;
}

Expr At(const Expr& e, const Var& m, const Expr& value) { return Substitute(e, VarMap{{m, value}}); }

// The product of the factors divided by that of the divisors.
Expr Quotient(const std::vector<Expr>& over, const std::vector<Expr>& under, DataType type) {
  const auto product = [&](const std::vector<Expr>& factors) {
    Expr value;
    for (const Expr& factor : factors) value = value ? value * CastTo(type, factor) : CastTo(type, factor);
    return value;
  };
  const Expr above = product(over), below = product(under);
  if (!below) return above ? above : Const(type, 1);
  return Div(above ? above : Const(type, 1), below);
}

}  // namespace

bool SameFactor(const ValueFactor& a, const ValueFactor& b) {
  const auto same = [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); };
  return std::ranges::equal(a.exponentials, b.exponentials,
                            [](const Exponential& x, const Exponential& y) {
                              return x.function == y.function && SameAddends(x.addends, y.addends);
                            }) &&
         std::ranges::equal(a.over, b.over, same) && std::ranges::equal(a.under, b.under, same);
}

std::variant<FactoredValue, NoFactor> FactorOut(const Expr& value, const Var& m,
                                                const std::function<bool(const Expr&)>& is_fixed) {
  Factoring factoring(m, is_fixed);
  std::optional<FactoredValue> found = factoring.Factor(value);
  if (!found) return NoFactor{factoring.refused ? factoring.refused : value};
  return *std::move(found);
}

Expr FactorAt(const ValueFactor& factor, const Var& m, const Expr& value, DataType type) {
  std::vector<Expr> over, under;
  for (const Exponential& exponential : factor.exponentials) {
    Expr exponent;
    for (const Addend& addend : exponential.addends) {
      const Expr term = At(addend.value, m, value);
      const Expr start = exponent ? exponent : Const(term.dtype(), 0);
      exponent = addend.negative ? start - term : exponent ? exponent + term : term;
    }
    over.push_back(Call(exponent.dtype(), exponential.function, {exponent}));
  }
  for (const Expr& e : factor.over) over.push_back(At(e, m, value));
  for (const Expr& e : factor.under) under.push_back(At(e, m, value));
  return Quotient(over, under, type);
}

Expr FactorRatio(const ValueFactor& factor, const Var& m, const Expr& from, const Expr& to, DataType type) {
  std::vector<Expr> over, under;
  for (const Exponential& exponential : factor.exponentials) {
    Expr exponent;
    for (const Addend& addend : exponential.addends) {
      const Expr x = At(addend.value, m, addend.negative ? from : to);
      const Expr difference = x - At(addend.value, m, addend.negative ? to : from);
      exponent = exponent ? exponent + difference : difference;
    }
    over.push_back(Call(exponent.dtype(), exponential.function, {exponent}));
  }
  for (const Expr& e : factor.over) {
    over.push_back(At(e, m, to));
    under.push_back(At(e, m, from));
  }
  for (const Expr& e : factor.under) {
    over.push_back(At(e, m, from));
    under.push_back(At(e, m, to));
  }
  return Quotient(over, under, type);
}

Expr IsInvertible(const ValueFactor& factor, const Var& m, const Expr& value) {
  Expr all;
  const auto add = [&](const Expr& condition) { all = all ? And(all, condition) : condition; };
  const auto finite = [](const Expr& e) { return Call(DataType::Bool(), "isfinite", {e}); };
  for (const Exponential& exponential : factor.exponentials) {
    for (const Addend& addend : exponential.addends) add(finite(At(addend.value, m, value)));
  }
  for (const std::vector<Expr>* factors : {&factor.over, &factor.under}) {
    for (const Expr& e : *factors) {
      const Expr x = At(e, m, value);
      add(And(finite(x), x != Const(x.dtype(), 0)));
    }
  }
  return all ? all : True();
}

std::optional<double> InvertibleAt(const ValueFactor& factor, const Var& m) {
  for (const double candidate : {0.0, 1.0, 2.0}) {
    const Expr value = ConstFloat(m.dtype(), candidate);
    const auto known = [&](const Expr& e, bool zero) {
      const std::optional<double> x = NumberOf(At(e, m, value));
      return x && std::isfinite(*x) && (zero || *x != 0);
    };
    const auto inverts = [&](const Expr& e) { return known(e, false); };
    bool all = std::ranges::all_of(factor.over, inverts) && std::ranges::all_of(factor.under, inverts);
    for (const Exponential& exponential : factor.exponentials) {
      all &= std::ranges::all_of(exponential.addends, [&](const Addend& addend) { return known(addend.value, true); });
    }
    if (all) return candidate;
  }
  return std::nullopt;
}

}  // namespace tilewright
