#include "schedule/reduction/idle_terms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// What is known of a value where terms are masked.
enum class Known : uint8_t { kNothing, kFinite, kZero, kPlusInfinity, kMinusInfinity };

Known Negated(Known value) {
  if (value == Known::kPlusInfinity) return Known::kMinusInfinity;
  return value == Known::kMinusInfinity ? Known::kPlusInfinity : value;
}
bool IsInfinite(Known value) { return value == Known::kPlusInfinity || value == Known::kMinusInfinity; }

// 0 where the sign of the factor is not known.
int SignOf(const Expr& factor) {
  const auto* imm = dyn_cast<FloatImmNode>(factor);
  return imm == nullptr ? 0 : (imm->value > 0) - (imm->value < 0);
}

// A number from -1 to 1: its products with finite values are finite.
bool IsShare(const Expr& factor) {
  const auto* imm = dyn_cast<FloatImmNode>(factor);
  return imm != nullptr && std::abs(imm->value) <= 1;
}

bool Chooses(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  return isa<SelectNode>(e) || (call != nullptr && call->op == kIfThenElse);
}

// The comparison that holds where this one does not; null for others than those of order.
Expr Opposite(const BinaryNode& op) {
  switch (op.op) {
    case BinaryOp::kLT:
      return op.a >= op.b;
    case BinaryOp::kLE:
      return op.a > op.b;
    case BinaryOp::kGT:
      return op.a <= op.b;
    case BinaryOp::kGE:
      return op.a < op.b;
    default:
      return {};
  }
}

// e with e <= 0 where the comparison of integers holds; null for other conditions.
Expr AtMostZero(const BinaryNode& op) {
  if (!op.a.dtype().is_int() || op.a.dtype().lanes() != 1) return {};
  const Expr one = Const(op.a.dtype(), 1);
  switch (op.op) {
    case BinaryOp::kLT:
      return op.a - op.b + one;
    case BinaryOp::kLE:
      return op.a - op.b;
    case BinaryOp::kGT:
      return op.b - op.a + one;
    case BinaryOp::kGE:
      return op.b - op.a;
    default:
      return {};
  }
}

class Finder {
 public:
  Finder(const Function& function, const OnlineChain& chain)
      : chain_(chain), scope_(BlockScope::Of(FindBlock(function, chain.scope)->block.get())) {}

  std::optional<IdleTerms> Find() {
    const Expr value = Expanded(chain_.first.component().value, kMostBlocks);
    std::vector<Expr> conditions;
    PreOrder(value, [&](const Expr& e) {
      if (const auto* select = dyn_cast<SelectNode>(e)) Collect(select->condition, &conditions);
      if (Chooses(e) && !isa<SelectNode>(e)) Collect(cast<CallNode>(e)->args[0], &conditions);
      return true;
    });
    std::optional<Bound> behind, before;
    for (const Expr& condition : conditions) {
      const std::optional<Bound> bound = BoundOf(condition, chain_.first);
      if (!bound || !bound->of_row || (bound->before ? before : behind)) continue;
      idle_ = *bound;
      if (ChangesNothing(value) && OthersAreZero()) (bound->before ? before : behind) = bound;
    }
    // A row ends with its last iteration: that must not come before the loop begins.
    if (before && behind && !MeetsInARow(*before->of_row, *behind->of_row)) before = std::nullopt;
    if (!before && !behind) return std::nullopt;
    IdleTerms found;
    if (before) found.begin = before->at;
    if (behind) found.end = behind->at;
    if (behind) found.last = LastOfRow(*behind->of_row);
    return found;
  }

 private:
  // How many elementwise blocks are looked through, one behind the other.
  static constexpr int kMostBlocks = 3;

  // ---- What terms are made of

  // The value in terms of what elementwise blocks with a choice in them read.
  Expr Expanded(const Expr& value, int depth) const {
    if (depth == 0) return value;
    return RewriteExpr(value, [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      const StoreNode* store = load == nullptr ? nullptr : WriterOf(load->buffer);
      if (store == nullptr) return e;
      VarMap at;
      for (size_t d = 0; d < load->indices.size(); ++d) at[Var(cast<VarNode>(store->indices[d]))] = load->indices[d];
      return Expanded(Substitute(store->value, at), depth - 1);
    });
  }
  // The one store that makes each element of the buffer, at the iterators of its block, of values of which one is
  // chosen; null where there is none.
  const StoreNode* WriterOf(const Buffer& buffer) const {
    const auto& allocated = scope_.block()->alloc_buffers;
    const std::vector<uint32_t> writers = scope_.Writers(buffer);
    if (writers.size() != 1 || std::ranges::none_of(allocated, [&](const Buffer& b) { return b.same_as(buffer); })) {
      return nullptr;
    }
    const ScopeChild& child = *scope_.Find(writers[0]);
    const BlockNode& block = *child.realize->block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (store == nullptr || store->predicate || block.init || !IsComplete(scope_, child)) return nullptr;
    for (size_t d = 0; d < store->indices.size(); ++d) {
      const auto same = [&](const Expr& e) { return e.same_as(store->indices[d]); };
      if (!isa<VarNode>(store->indices[d]) || std::ranges::count_if(store->indices, same) > 1) return nullptr;
    }
    for (const IterVar& iter : block.iter_vars) {
      const auto is = [&](const Expr& e) { return e.same_as(iter.var); };
      if (std::ranges::none_of(store->indices, is) && UsesVar(store->value, iter.var)) return nullptr;
    }
    bool chooses = false;
    PreOrder(store->value, [&](const Expr& e) { return !(chooses |= Chooses(e)); });
    return chooses ? store : nullptr;
  }

  // ---- Conditions

  // Comparisons that one side of a condition consists of, those that hold where it does not included.
  static void Collect(const Expr& condition, std::vector<Expr>* all) {
    if (const auto* negated = dyn_cast<NotNode>(condition)) return Collect(negated->a, all);
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr) return;
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      Collect(op->a, all);
      return Collect(op->b, all);
    }
    if (!Opposite(*op)) return;
    all->push_back(condition);
    all->push_back(Opposite(*op));
  }

  // The outermost iteration in which e <= 0 for some iterations of the loops inside: numerator // step.
  struct Edge {
    bool before = false;  // e > 0 in all iterations before it; else in all behind it
    Expr numerator;
    int64_t step = 1;

    Expr iteration() const { return FloorDiv(numerator, Const(numerator.dtype(), step)); }
  };
  // Iterations in which a comparison fails for all terms of a block.
  struct Bound {
    bool before = false;
    Expr at;  // they are those before this one, which has terms, or those from it on; of the first reduction's loops
    std::optional<Edge> of_row;  // of the first reduction's iterators
  };

  std::optional<Bound> BoundOf(const Expr& condition, const OnlineBlock& block) const {
    const Expr least = AtMostZero(*cast<BinaryNode>(condition));
    if (!least || arith::ReadsMemory(least)) return std::nullopt;
    const ForNode* shared = block.loops[block.outer - 1];
    VarMap all, reduced;
    for (size_t i = 0; i < block.realize->bindings.size(); ++i) {
      const IterVar& iter = block.block().iter_vars[i];
      all[iter.var] = block.realize->bindings[i];
      if (iter.kind == IterKind::kReduce) reduced[iter.var] = block.realize->bindings[i];
    }
    const std::optional<Edge> edge = EdgeOf(Substitute(least, all), block, *shared);
    if (!edge) return std::nullopt;
    arith::Analyzer analyzer;
    BindLoops(analyzer, chain_.first.loops);
    const Expr at = Substitute(edge->iteration(), ToFirst(block));
    Bound found{edge->before, analyzer.Simplify(edge->before ? InLoop(at) : Max(at + 1, Const(at.dtype(), 1))), {}};
    if (&block != &chain_.first) return found;
    const std::optional<Edge> of_row = EdgeOf(Substitute(least, reduced), block, *shared);
    const bool uses_loops = of_row && std::ranges::any_of(block.loops, [&](const ForNode* loop) {
                              return UsesVar(of_row->numerator, loop->var);
                            });
    if (of_row && !uses_loops) found.of_row = of_row;
    return found;
  }

  static std::optional<Edge> EdgeOf(const Expr& e, const OnlineBlock& block, const ForNode& shared) {
    arith::Analyzer analyzer;
    BindLoops(analyzer, block.loops);
    for (const IterVar& iter : block.block().iter_vars) analyzer.Bind(iter.var, iter.domain);
    std::vector<Var> vars = {shared.var};
    const std::vector<const ForNode*> inner = block.inner_loops();
    for (const ForNode* loop : inner) vars.push_back(loop->var);
    const auto linear = arith::DetectLinear(e, vars, &analyzer);
    const auto step = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
    if (!step || *step == 0 || !IsInt(shared.min, 0)) return std::nullopt;
    int64_t least = 0;
    for (size_t l = 0; l < inner.size(); ++l) {
      const auto coefficient = AsInt(linear->coefficients[l + 1]), extent = AsInt(inner[l]->extent);
      if (!coefficient || (*coefficient < 0 && !extent) || !IsInt(inner[l]->min, 0)) return std::nullopt;
      least += std::min<int64_t>(0, *coefficient * (extent.value_or(1) - 1));
    }
    // step * iteration + base + least <= 0: the last such iteration, or the first one, a quotient rounded up.
    const DataType type = e.dtype();
    const Expr base = linear->base + Const(type, least);
    if (*step > 0) return Edge{false, analyzer.Simplify(Const(type, 0) - base), *step};
    return Edge{true, analyzer.Simplify(base + Const(type, -*step - 1)), -*step};
  }

  // The nearest iteration that the shared loop has.
  Expr InLoop(const Expr& iteration) const {
    const Expr& extent = chain_.first.loops[chain_.first.outer - 1]->extent;
    const Expr most = CastTo(iteration.dtype(), extent - Const(extent.dtype(), 1));
    return Max(Min(iteration, most), Const(iteration.dtype(), 0));
  }

  void BindRow(arith::Analyzer* analyzer) const {
    for (const IterVar& iter : chain_.first.block().iter_vars) analyzer->Bind(iter.var, iter.domain);
  }
  Expr LastOfRow(const Edge& edge) const {
    arith::Analyzer analyzer;
    BindRow(&analyzer);
    return analyzer.Simplify(InLoop(edge.iteration()));
  }
  // Whether no row's first iteration comes after its last one.
  bool MeetsInARow(const Edge& first, const Edge& last) const {
    arith::Analyzer analyzer;
    BindRow(&analyzer);
    if (first.step == last.step && analyzer.CanProveLessEqual(first.numerator, last.numerator)) return true;
    return analyzer.CanProveLessEqual(first.iteration(), last.iteration());
  }

  VarMap ToFirst(const OnlineBlock& block) const {
    VarMap vars;
    for (size_t i = 0; i < block.outer; ++i) vars[block.loops[i]->var] = chain_.first.loops[i]->var;
    return vars;
  }

  // ---- Values in the iterations of idle_

  bool ChangesNothing(const Expr& value) {
    block_ = &chain_.first;
    const Known known = ValueOf(value);
    const Reducer::Component& component = chain_.first.component();
    const auto* op = dyn_cast<BinaryNode>(component.combined);
    if (const auto* select = dyn_cast<SelectNode>(component.combined)) op = dyn_cast<BinaryNode>(select->false_value);
    if (op == nullptr) return false;
    return (op->op == BinaryOp::kMax && known == Known::kMinusInfinity) ||
           (op->op == BinaryOp::kMin && known == Known::kPlusInfinity) ||
           (op->op == BinaryOp::kAdd && known == Known::kZero);
  }

  bool OthersAreZero() {
    return std::ranges::all_of(chain_.others, [&](const OnlineBlock& other) {
      if (!other.reduces) return true;
      block_ = &other;
      return ValueOf(Expanded(other.value, kMostBlocks)) == Known::kZero;
    });
  }

  // Whether the condition holds, where that is known.
  std::optional<bool> Decide(const Expr& condition) const {
    if (const auto* negated = dyn_cast<NotNode>(condition)) {
      const std::optional<bool> inside = Decide(negated->a);
      return inside ? std::optional<bool>(!*inside) : std::nullopt;
    }
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr) return std::nullopt;
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      const std::optional<bool> a = Decide(op->a), b = Decide(op->b);
      const bool decides = op->op == BinaryOp::kOr;
      if ((a && *a == decides) || (b && *b == decides)) return decides;
      return a && b ? std::optional<bool>(!decides) : std::nullopt;
    }
    if (op->op == BinaryOp::kEQ || op->op == BinaryOp::kNE) {
      const Known a = ValueOf(op->a), b = ValueOf(op->b);
      const bool same = a == b && (IsInfinite(a) || a == Known::kZero);
      return same ? std::optional<bool>(op->op == BinaryOp::kEQ) : std::nullopt;
    }
    const Expr opposite = Opposite(*op);
    if (!opposite) return std::nullopt;
    if (Fails(condition)) return false;
    return Fails(opposite) ? std::optional<bool>(true) : std::nullopt;
  }
  bool Fails(const Expr& comparison) const {
    const std::optional<Bound> bound = BoundOf(comparison, *block_);
    if (!bound || bound->before != idle_.before) return false;
    arith::Analyzer analyzer;
    BindLoops(analyzer, chain_.first.loops);
    const Expr at = CastTo(idle_.at.dtype(), bound->at);
    return bound->before ? analyzer.CanProveLessEqual(idle_.at, at) : analyzer.CanProveLessEqual(at, idle_.at);
  }

  Known ValueOf(const Expr& e) const {
    if (e.same_as(chain_.m)) return Known::kFinite;
    if (const auto* imm = dyn_cast<FloatImmNode>(e)) {
      if (std::isinf(imm->value)) return imm->value > 0 ? Known::kPlusInfinity : Known::kMinusInfinity;
      return imm->value == 0 ? Known::kZero : std::isnan(imm->value) ? Known::kNothing : Known::kFinite;
    }
    if (const auto* cast_node = dyn_cast<CastNode>(e)) {
      const bool floats = e.dtype().is_float() && cast_node->value.dtype().is_float();
      return floats ? ValueOf(cast_node->value) : Known::kNothing;
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      return Chosen(select->condition, select->true_value, select->false_value);
    }
    if (const auto* op = dyn_cast<BinaryNode>(e)) return e.dtype().is_float() ? ValueOfBinary(*op) : Known::kNothing;
    const auto* call = dyn_cast<CallNode>(e);
    if (call == nullptr) return Known::kNothing;
    if (call->op == kIfThenElse) return Chosen(call->args[0], call->args[1], call->args[2]);
    if ((call->op == "exp" || call->op == "exp2") && ValueOf(call->args[0]) == Known::kMinusInfinity) {
      return Known::kZero;
    }
    return Known::kNothing;
  }
  Known Chosen(const Expr& condition, const Expr& a, const Expr& b) const {
    if (const std::optional<bool> holds = Decide(condition)) return ValueOf(*holds ? a : b);
    const Known first = ValueOf(a);
    return first == ValueOf(b) ? first : Known::kNothing;
  }
  // Zero times anything is zero: a factor that is infinite or NaN has no effect where it is masked.
  Known ValueOfBinary(const BinaryNode& op) const {
    const Known a = ValueOf(op.a);
    switch (op.op) {
      case BinaryOp::kMul: {
        const Known b = ValueOf(op.b);
        if (a == Known::kZero || b == Known::kZero) return Known::kZero;
        if (const int sign = SignOf(op.b); IsInfinite(a) && sign != 0) return sign > 0 ? a : Negated(a);
        if (const int sign = SignOf(op.a); IsInfinite(b) && sign != 0) return sign > 0 ? b : Negated(b);
        return (a == Known::kFinite && IsShare(op.b)) || (b == Known::kFinite && IsShare(op.a)) ? Known::kFinite
                                                                                                : Known::kNothing;
      }
      case BinaryOp::kDiv: {
        if (a == Known::kZero) return a;
        const int sign = SignOf(op.b);
        return IsInfinite(a) && sign != 0 ? (sign > 0 ? a : Negated(a)) : Known::kNothing;
      }
      case BinaryOp::kAdd:
        return Sum(a, ValueOf(op.b));
      case BinaryOp::kSub:
        return Sum(a, Negated(ValueOf(op.b)));
      default:
        return Known::kNothing;
    }
  }
  static Known Sum(Known a, Known b) {
    if (a == Known::kZero) return b;
    if (b == Known::kZero) return a;
    if (IsInfinite(a) && (b == Known::kFinite || b == a)) return a;
    if (IsInfinite(b) && a == Known::kFinite) return b;
    return Known::kNothing;
  }

  const OnlineChain& chain_;
  const BlockScope scope_;
  Bound idle_;
  const OnlineBlock* block_ = nullptr;  // whose terms are looked at
};

}  // namespace

std::optional<IdleTerms> FindIdleTerms(const Function& function, const OnlineChain& chain) {
  return Finder(function, chain).Find();
}

}  // namespace tilewright
