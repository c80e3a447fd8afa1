#include "verify/structure/index_cases.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

constexpr char kFlip[] = "bitwise_xor";

struct Choice {
  Expr condition, where, elsewhere;
};

std::optional<Choice> ChoiceOf(const Expr& e) {
  if (const auto* select = dyn_cast<SelectNode>(e); select != nullptr && select->condition.dtype().is_scalar()) {
    return Choice{select->condition, select->true_value, select->false_value};
  }
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->op != kIfThenElse || !e.dtype().is_scalar()) return std::nullopt;
  return Choice{call->args[0], call->args[1], call->args[2]};
}

// Other values of the iterators, some of which equal indices decide.
class Others {
 public:
  Others(const arith::Domain& iterators, arith::Analyzer* analyzer) : analyzer_(*analyzer) {
    for (const auto& [var, range] : iterators) {
      Var other(var.name() + "_", var.dtype());
      const Range others{Of(range.min), Of(range.extent)};
      analyzer_.Bind(other, others);
      others_[var] = other;
      open_.push_back({other, others});
    }
  }
  Expr Of(const Expr& e) const { return Substitute(Substitute(e, others_), decided_); }
  // What `there`, an index of others, says of one of them if it equals `here`. False: they never are equal.
  bool Decide(const Expr& here, const Expr& there) {
    const Expr index = Of(there);
    if (analyzer_.CanProveLess(here, index) || analyzer_.CanProveLess(index, here)) return false;
    std::vector<Var> vars;
    for (const auto& [var, range] : open_) vars.push_back(var);
    const auto form = arith::DetectLinear(index, vars, &analyzer_);
    if (!form) return true;
    std::optional<size_t> decided;
    for (size_t i = 0; i < vars.size(); ++i) {
      const auto factor = AsInt(form->coefficients[i]);
      if (factor && *factor == 0) continue;
      if (decided || !factor || std::abs(*factor) != 1) return true;
      decided = i;
    }
    if (!decided) return true;
    const auto [var, range] = open_[*decided];
    const bool negative = IsInt(form->coefficients[*decided], -1);
    const Expr value = analyzer_.Simplify(CastTo(var.dtype(), negative ? form->base - here : here - form->base));
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(*decided));
    decided_[var] = value;
    const Expr end = Of(range.min + range.extent);
    return !analyzer_.CanProveLess(value, Of(range.min)) && !analyzer_.CanProveLessEqual(end, value);
  }

 private:
  arith::Analyzer& analyzer_;
  VarMap others_, decided_;
  arith::Domain open_;
};

// What `number % modulus == value` says.
struct Remainder {
  Expr number, value;
  int64_t modulus;
};
std::optional<Remainder> RemainderOf(const Expr& condition) {
  if (const auto* negated = dyn_cast<NotNode>(condition)) {
    // A bit that is not 0 is 1.
    auto bit = RemainderOf(negated->a);
    if (!bit || bit->modulus != 2 || !(IsInt(bit->value, 0) || IsInt(bit->value, 1))) return std::nullopt;
    bit->value = Const(bit->value.dtype(), 1 - *AsInt(bit->value));
    return bit;
  }
  const auto* equal = dyn_cast<BinaryNode>(condition);
  if (equal == nullptr || (equal->op != BinaryOp::kEQ && equal->op != BinaryOp::kNE)) return std::nullopt;
  if (equal->op == BinaryOp::kNE) return RemainderOf(Not(equal->a == equal->b));
  for (const auto& [side, other] : {std::pair(equal->a, equal->b), std::pair(equal->b, equal->a)}) {
    const auto* mod = dyn_cast<BinaryNode>(side);
    if (mod == nullptr || mod->op != BinaryOp::kFloorMod) continue;
    const auto modulus = AsInt(mod->b);
    if (modulus && *modulus > 1) return Remainder{mod->a, other, *modulus};
  }
  return std::nullopt;
}

// Whether the two never hold at once: (i + j) % 2 == c and (i + j - 1) % 2 == c.
bool Contradict(const Expr& a, const Expr& b, arith::Analyzer* analyzer) {
  if (analyzer->CanProve(Not(b))) return true;
  const auto x = a ? RemainderOf(a) : std::nullopt, y = RemainderOf(b);
  if (!x || !y || x->modulus != y->modulus) return false;
  const auto apart = AsInt(analyzer->Simplify((x->number - x->value) - (y->number - y->value)));
  return apart && *apart % x->modulus != 0;
}

}  // namespace

std::optional<IndexCases> CasesOf(const std::vector<Expr>& indices) {
  constexpr int kMostChoices = 4;
  int choices = 0;
  Expr first;
  for (const Expr& index : indices) {
    PreOrder(index, [&](const Expr& part) {
      if (!ChoiceOf(part)) return true;
      if (!first) first = part;
      return ++choices <= kMostChoices;
    });
  }
  if (!first || choices > kMostChoices) return std::nullopt;
  const Choice choice = *ChoiceOf(first);
  if (arith::ReadsMemory(choice.condition)) return std::nullopt;
  IndexCases cases{choice.condition, {}, {}};
  const auto with = [&](const Expr& index, const Expr& chosen) {
    return RewriteExpr(index, [&](const Expr& part) { return part.same_as(first) ? chosen : part; });
  };
  for (const Expr& index : indices) {
    cases.where.push_back(with(index, choice.where));
    cases.elsewhere.push_back(with(index, choice.elsewhere));
  }
  return cases;
}

Expr WithoutFlips(const Expr& index, const arith::Domain& iterators) {
  const auto* call = dyn_cast<CallNode>(index);
  if (call == nullptr || call->op != kFlip || arith::ReadsMemory(call->args[1])) return index;
  const auto is_of_mask = [&](const auto& iterator) { return UsesVar(call->args[1], iterator.first); };
  return std::ranges::any_of(iterators, is_of_mask) ? index : WithoutFlips(call->args[0], iterators);
}

Expr FlipsInDigits(const Expr& index) {
  return RewriteExpr(index, [](const Expr& part) {
    const auto* call = dyn_cast<CallNode>(part);
    const auto mask = call != nullptr && call->op == kFlip ? AsInt(call->args[1]) : std::nullopt;
    if (!mask || *mask <= 0 || *mask >= int64_t{1} << 30) return part;
    const Expr above = Const(part.dtype(), static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(*mask) + 1)));
    const Expr& number = call->args[0];
    return FloorDiv(number, above) * above + Call(part.dtype(), kFlip, {FloorMod(number, above), call->args[1]});
  });
}

Expr InDigits(const Expr& index, const Expr& condition) {
  const auto digit = RemainderOf(condition);
  if (!digit) return index;
  const auto* quotient = dyn_cast<BinaryNode>(digit->number);
  const bool divides = quotient != nullptr && quotient->op == BinaryOp::kFloorDiv && AsInt(quotient->b).value_or(0) > 0;
  const auto* var = dyn_cast<VarNode>(divides ? quotient->a : digit->number);
  if (var == nullptr) return index;
  const Expr number((Var(var)));
  const Expr place = divides ? quotient->b : Const(number.dtype(), 1);
  const Expr above = place * Const(number.dtype(), digit->modulus);
  const Expr digits = FloorDiv(number, above) * above + digit->value * place + FloorMod(number, place);
  return Substitute(index, {{Var(var), digits}});
}

std::optional<std::pair<Expr, Expr>> LaneEnds(const Expr& index) {
  if (index.dtype().lanes() == 1) return std::pair(index, index);
  if (const auto* broadcast = dyn_cast<BroadcastNode>(index)) return std::pair(broadcast->value, broadcast->value);
  const auto* ramp = dyn_cast<RampNode>(index);
  if (ramp == nullptr) return std::nullopt;
  const Expr last = ramp->base + ramp->stride * Const(ramp->base.dtype(), index.dtype().lanes() - 1);
  const auto stride = AsInt(ramp->stride);
  if (!stride) return std::nullopt;
  return *stride < 0 ? std::pair(last, ramp->base) : std::pair(ramp->base, last);
}

bool AreNeverEqual(const GuardedIndices& a, const GuardedIndices& b, const arith::Domain& iterators,
                   arith::Analyzer* analyzer) {
  arith::Analyzer::Scope scope(analyzer);
  if (a.condition) analyzer->Assume(a.condition);
  Others others(iterators, analyzer);
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (!others.Decide(a.indices[d], b.indices[d])) return true;
  }
  return b.condition && Contradict(a.condition, others.Of(b.condition), analyzer);
}

}  // namespace tilewright
