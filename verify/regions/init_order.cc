#include "verify/regions/init_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/sum.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/instances.h"
#include "verify/structure/scope_checker.h"

namespace tilewright {
namespace {

using Loops = std::vector<const ForNode*>;

Loops UsedIn(const Expr& e, const Loops& loops) {
  Loops used;
  for (const ForNode* loop : loops) {
    if (!IsInt(loop->extent, 1) && UsesVar(e, loop->var)) used.push_back(loop);
  }
  return used;
}

bool Meet(const Loops& a, const Loops& b) {
  return std::ranges::any_of(a, [&](const ForNode* loop) { return std::ranges::find(b, loop) != b.end(); });
}

// Factors of the loops in a sum of multiples of them and of what uses none; nothing for other expressions.
using Factors = std::map<const ForNode*, int64_t>;
bool AddFactors(const Expr& e, const Loops& loops, int64_t factor, Factors* factors) {
  if (UsedIn(e, loops).empty()) return true;
  for (const ForNode* loop : loops) {
    if (e.same_as(loop->var)) {
      (*factors)[loop] += factor;
      return true;
    }
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) {
    return AddFactors(op->a, loops, factor, factors) &&
           AddFactors(op->b, loops, op->op == BinaryOp::kAdd ? factor : -factor, factors);
  }
  if (op->op != BinaryOp::kMul) return false;
  if (const auto by = AsInt(op->b)) return AddFactors(op->a, loops, factor * *by, factors);
  if (const auto by = AsInt(op->a)) return AddFactors(op->b, loops, factor * *by, factors);
  return false;
}

// Whether the value never falls while the loops run: each step of an outer one is no less than all of the inner ones.
bool CountsUp(const Expr& e, const Loops& loops) {
  Factors factors;
  if (!AddFactors(e, loops, 1, &factors)) return false;
  int64_t inside = 0;
  for (size_t l = loops.size(); l-- > 0;) {
    const auto factor = factors.find(loops[l]);
    if (factor == factors.end() || factor->second == 0) continue;
    const std::optional<int64_t> extent = AsInt(loops[l]->extent);
    if (factor->second < inside) return false;
    // A symbolic extent is known only where nothing is outside of the loop.
    if (!extent) inside = INT64_MAX / 2;
    if (extent && __builtin_add_overflow(inside, factor->second * (*extent - 1), &inside)) return false;
  }
  return true;
}

// What a quotient or remainder by constants is taken of; `e` itself where it is none.
Expr NumberOf(const Expr& e) {
  const auto* op = dyn_cast<BinaryNode>(e);
  const bool digit = op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) && AsInt(op->b);
  return digit ? NumberOf(op->a) : e;
}

// Whether a mark counts up while the loops run: it is a loop, or loops in their order fused. Of a part of such a mark,
// f // n, each digit is a digit of the mark.
bool CountsLoops(const arith::IterMark& mark, const Loops& loops) {
  if (!mark.var && mark.sum.args.size() == 1) {
    return mark.sum.args[0].scale.scale > 0 && CountsLoops(*mark.sum.args[0].source, loops);
  }
  size_t next = 0;
  const auto is_next = [&](const Var& var) {
    while (next < loops.size() && !loops[next]->var.same_as(var)) ++next;
    return next++ < loops.size();
  };
  if (mark.var) return is_next(mark.var);
  return std::ranges::all_of(mark.sum.args, [&](const arith::IterSplit& part) {
    return part.source->var && part.lower_factor.IsOne() && part.scale.scale > 0 && is_next(part.source->var);
  });
}

// A constant, or the extent of a loop that runs or a factor of it.
bool IsPositive(const Expr& e, const Loops& loops) {
  if (const auto constant = AsInt(e)) return *constant > 0;
  return std::ranges::any_of(loops, [&](const ForNode* loop) {
    const arith::Factors factors = arith::ProductFactors(loop->extent);
    return arith::SameAtom(e, loop->extent) ||
           std::ranges::any_of(factors, [&](const Expr& factor) { return arith::SameAtom(e, factor); });
  });
}

// Whether the value is no greater where loops are at lesser values.
bool Rises(const Expr& e, const Loops& loops) {
  if (UsedIn(e, loops).empty()) return true;
  if (isa<VarNode>(e)) return true;
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAdd) return Rises(op->a, loops) && Rises(op->b, loops);
  const bool scales = op->op == BinaryOp::kMul || op->op == BinaryOp::kFloorDiv;
  return scales && IsPositive(op->b, loops) && Rises(op->a, loops);
}

}  // namespace

bool HoldsBelow(const Expr& condition, const Loops& loops) {
  if (IsTrue(condition) || UsedIn(condition, loops).empty()) return true;
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAnd) return HoldsBelow(op->a, loops) && HoldsBelow(op->b, loops);
  return (op->op == BinaryOp::kLT || op->op == BinaryOp::kLE) && Rises(op->a, loops) && UsedIn(op->b, loops).empty();
}

namespace {

// Whether all iterators are made of digits of loops, no digit twice, so that among the instances with given spatial
// digits that with the reduce digits 0 comes first. io * 2 + f // 63 and f % 63 of f in [0, 126) are.
bool AreDigitsOfLoops(const BlockRealizeNode& realize, const Loops& loops) {
  arith::Analyzer analyzer;
  arith::Domain domain;
  for (const ForNode* loop : loops) {
    if (IsInt(loop->extent, 1)) {
      analyzer.Bind(loop->var, loop->min);
      continue;
    }
    if (!IsInt(loop->min, 0)) return false;
    analyzer.Bind(loop->var, {loop->min, loop->extent});
    domain.push_back({loop->var, {loop->min, loop->extent}});
  }
  if (!HoldsBelow(realize.predicate, loops)) return false;
  const auto map = arith::DetectIterMap(realize.bindings, domain, Expr(), arith::IterMapLevel::kNone, &analyzer);
  if (!map || !map->injective) return false;
  for (size_t i = 0; i < map->indices.size(); ++i) {
    const arith::IterSum& index = map->indices[i];
    for (const arith::IterSplit& digit : index.args) {
      if (digit.scale.scale <= 0 || !CountsLoops(*digit.source, loops)) return false;
    }
    const IterVar& iter = realize.block->iter_vars[i];
    if (iter.kind == IterKind::kReduce && !analyzer.CanProveEqual(index.base, iter.domain.min)) return false;
  }
  return true;
}

bool DigitsCountUp(const BlockRealizeNode& realize, const Loops& loops, const Loops& late) {
  // All that uses these loops must be digits of one number that counts up.
  std::optional<Expr> number;
  for (const Expr& binding : realize.bindings) {
    if (!Meet(UsedIn(binding, loops), late)) continue;
    const Expr of = NumberOf(binding);
    if (number && !arith::SameExpr(*number, of)) return false;
    number = of;
  }
  return !number || CountsUp(*number, loops);
}

// Whether the predicate lets the instance run whose reduce iterators begin, where it lets any run.
bool PredicateAllowsFirst(const BlockRealizeNode& realize, const Loops& loops, const std::vector<size_t>& reduce) {
  if (IsTrue(realize.predicate)) return true;
  Loops summed;
  for (const size_t i : reduce) {
    const Loops used = UsedIn(realize.bindings[i], loops);
    summed.insert(summed.end(), used.begin(), used.end());
  }
  VarMap first;
  arith::Analyzer analyzer;
  for (const ForNode* loop : loops) {
    if (Meet({loop}, summed)) {
      first[loop->var] = loop->min;
    } else {
      analyzer.Bind(loop->var, {loop->min, loop->extent});
    }
  }
  const auto allows = [&](const auto& self, const Expr& condition) -> bool {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) return self(self, both->a) && self(self, both->b);
    return HoldsBelow(condition, summed) || analyzer.CanProve(Substitute(condition, first));
  };
  return allows(allows, realize.predicate);
}

// By counting what few constant loops do.
bool CountedInitRunsFirst(const BlockRealizeNode& realize, const Loops& loops) {
  arith::Domain domain;
  for (const ForNode* loop : loops) {
    const bool in_order = loop->kind == ForKind::kSerial || loop->kind == ForKind::kUnrolled;
    if (!in_order && !IsInt(loop->extent, 1)) return false;
    domain.push_back({loop->var, {loop->min, loop->extent}});
  }
  const auto instances = InstancesInOrder(domain, realize.predicate, realize.bindings);
  if (!instances) return false;
  std::set<InstanceValues> begun;  // values of the iterators that are not reduce
  for (const InstanceValues& values : *instances) {
    InstanceValues others;
    bool runs_init = true;
    for (size_t i = 0; i < values.size(); ++i) {
      const IterVar& iter = realize.block->iter_vars[i];
      if (iter.kind == IterKind::kReduce) {
        runs_init &= AsInt(iter.domain.min) == values[i];
      } else {
        others.push_back(values[i]);
      }
    }
    if (begun.insert(std::move(others)).second && !runs_init) return false;
  }
  return true;
}

}  // namespace

bool InitRunsFirst(const BlockRealizeNode& realize, const Loops& loops) {
  const BlockNode& block = *realize.block;
  if (!block.init) return true;
  Loops spatial;
  std::vector<size_t> reduce;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const Loops used = UsedIn(realize.bindings[i], loops);
    if (block.iter_vars[i].kind == IterKind::kReduce) {
      reduce.push_back(i);
    } else {
      spatial.insert(spatial.end(), used.begin(), used.end());
    }
  }
  VarMap first;
  for (const ForNode* loop : loops) first[loop->var] = loop->min;
  arith::Analyzer analyzer;
  Loops late;  // used by iterators that do not begin with their least values, or share loops with spatial ones
  std::vector<size_t> doubtful;
  for (const size_t i : reduce) {
    const Loops used = UsedIn(realize.bindings[i], loops);
    if (!Meet(used, spatial) &&
        analyzer.CanProveEqual(Substitute(realize.bindings[i], first), block.iter_vars[i].domain.min)) {
      continue;
    }
    doubtful.push_back(i);
    late.insert(late.end(), used.begin(), used.end());
  }
  if (doubtful.empty() && PredicateAllowsFirst(realize, loops, reduce)) return true;
  if (doubtful.empty()) return CountedInitRunsFirst(realize, loops);
  return DigitsCountUp(realize, loops, late) || AreDigitsOfLoops(realize, loops) ||
         CountedInitRunsFirst(realize, loops);
}

namespace {

class Checker : public ScopeChecker {
 protected:
  void CheckScope(const BlockScope& scope) override {
    for (const ScopeChild& child : scope.children()) {
      if (InitRunsFirst(*child.realize, child.loops)) continue;
      Refute("init order", child.id(),
             "block " + child.realize->block->name + " may add to an element before its init has run");
    }
  }
};

}  // namespace

Diagnostics CheckInitOrder(const Function& function) { return DiagnosticsOf<Checker>(function); }

}  // namespace tilewright
