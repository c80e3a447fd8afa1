#include "ir/arith/linear.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/arith/context.h"
#include "ir/arith/uses.h"

namespace tilewright::arith {
namespace {

bool UsesAny(const Expr& e, const std::vector<Var>& vars) {
  return UsesVar(e, [&](const VarNode* used) {
    return std::any_of(vars.begin(), vars.end(), [&](const Var& var) { return var.get() == used; });
  });
}

}  // namespace

std::optional<LinearForm> DetectLinear(const Expr& e, const std::vector<Var>& vars, Analyzer* analyzer) {
  if (!e.dtype().is_index()) return std::nullopt;
  Context& context = analyzer->context();
  Sum sum = context.ToSum(e);
  if (sum.overflow) return std::nullopt;
  Sum base = Sum::Constant(sum.dtype, sum.base);
  std::vector<Sum> coefficients(vars.size(), Sum::Constant(sum.dtype, 0));
  for (const Term& term : sum.terms) {
    if (!UsesAny(term.atom, vars)) {
      base.terms.push_back(term);
      continue;
    }
    if (term.IsSplit()) return std::nullopt;
    Factors factors = ProductFactors(term.atom);
    for (size_t i = 0; i < factors.size(); ++i) {
      auto var = std::find_if(vars.begin(), vars.end(), [&](const Var& v) { return v.get() == factors[i].get(); });
      if (var == vars.end()) continue;
      factors.erase(factors.begin() + i);
      Sum* coefficient = &coefficients[var - vars.begin()];
      if (factors.empty()) {
        coefficient->AddBase(term.scale);
      } else {
        Expr product = MakeProduct(factors, sum.dtype);
        if (UsesAny(product, vars)) return std::nullopt;
        context.AddExpr(coefficient, product, term.scale);
      }
      factors.clear();
      break;
    }
    if (!factors.empty()) return std::nullopt;  // A variable inside of an atom.
  }
  LinearForm form;
  form.base = context.FromSum(base);
  for (const Sum& coefficient : coefficients) form.coefficients.push_back(context.FromSum(coefficient));
  bool valid = form.base && std::all_of(form.coefficients.begin(), form.coefficients.end(),
                                        [](const Expr& c) { return static_cast<bool>(c); });
  return valid ? std::optional<LinearForm>(std::move(form)) : std::nullopt;
}

int64_t KnownDivisor(const Expr& e, Analyzer* analyzer) {
  Sum sum = analyzer->context().ToSum(e);
  if (sum.overflow) return 1;
  int64_t divisor = std::gcd(sum.base, int64_t{0});
  for (const Term& term : sum.terms) divisor = std::gcd(divisor, term.scale);
  return divisor;
}

int64_t WrittenDivisor(const Expr& e) {
  if (const std::optional<int64_t> value = AsInt(e)) return *value > kNegInf ? std::abs(*value) : 1;
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return 1;
  const int64_t a = WrittenDivisor(op->a), b = WrittenDivisor(op->b);
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kFloorMod:
      return std::gcd(a, b);
    case BinaryOp::kMul: {
      // No more than alignments are asked for, so that products do not overflow.
      constexpr int64_t kEnough = 4096;
      return std::gcd(a, kEnough) * std::gcd(b, kEnough);
    }
    default:
      return 1;
  }
}

}  // namespace tilewright::arith
