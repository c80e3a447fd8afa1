#include "verify/regions/init_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/sum.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
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
// Without gaps: no greater than those and 1, so that each value between two is there.
bool CountsUp(const Expr& e, const Loops& loops, bool without_gaps = false) {
  Factors factors;
  if (!AddFactors(e, loops, 1, &factors)) return false;
  int64_t inside = 0;
  for (size_t l = loops.size(); l-- > 0;) {
    const auto factor = factors.find(loops[l]);
    const std::optional<int64_t> extent = AsInt(loops[l]->extent);
    if (extent == 1) continue;
    if (factor == factors.end() || factor->second == 0) {
      // What is inside begins again.
      if (inside > 0) return false;
      continue;
    }
    if (factor->second < inside || (without_gaps && factor->second - 1 > inside)) return false;
    // A symbolic extent is known only where nothing is outside of the loop.
    if (!extent) inside = INT64_MAX / 2;
    if (extent && __builtin_add_overflow(inside, factor->second * (*extent - 1), &inside)) return false;
  }
  return true;
}

// Whether a mark counts up while the loops run: it is a loop, or loops in their order fused. Of a part of such a mark,
// f // n, each digit is a digit of the mark.
bool CountsLoops(const arith::IterMark& mark, const Loops& loops) {
  // A number that starts with another than 0 may leave the first digits out.
  if (!mark.var && !IsInt(mark.sum.base, 0)) return false;
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

// Whether the condition holds in all iterations before one in which it holds.
bool HoldsEarlier(const Expr& condition, const Loops& loops) {
  if (IsTrue(condition) || UsedIn(condition, loops).empty()) return true;
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAnd) return HoldsEarlier(op->a, loops) && HoldsEarlier(op->b, loops);
  return (op->op == BinaryOp::kLT || op->op == BinaryOp::kLE) && UsedIn(op->b, loops).empty() && CountsUp(op->a, loops);
}

// The loops of marks that are several loops fused: where their number is less, all but the outermost may be further.
Loops FusedLoops(const arith::IterMap& map, const Loops& loops) {
  Loops fused;
  const auto add = [&](const auto& self, const arith::IterMark& mark) -> void {
    for (const arith::IterSplit& part : mark.sum.args) {
      const auto loop = std::ranges::find_if(
          loops, [&](const ForNode* each) { return part.source->var && part.source->var.same_as(each->var); });
      if (loop != loops.end() && mark.sum.args.size() > 1) fused.push_back(*loop);
      self(self, *part.source);
    }
  };
  for (const arith::IterSum& index : map.indices) {
    for (const arith::IterSplit& digit : index.args) add(add, *digit.source);
  }
  return fused;
}

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
  const auto map = arith::DetectIterMap(realize.bindings, domain, Expr(), arith::IterMapLevel::kNone, &analyzer);
  if (!map || !map->injective) return false;
  const auto allows = [&](const auto& self, const Expr& condition) -> bool {
    const auto* both = dyn_cast<BinaryNode>(condition);
    if (both != nullptr && both->op == BinaryOp::kAnd) return self(self, both->a) && self(self, both->b);
    return HoldsEarlier(condition, loops) ||
           (HoldsBelow(condition, loops) && !Meet(UsedIn(condition, loops), FusedLoops(*map, loops)));
  };
  if (!allows(allows, realize.predicate)) return false;
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

// A digit of a number: the quotients and remainders that are taken of it, the first one first.
using Divisions = std::vector<std::pair<BinaryOp, Expr>>;
struct NumberDigit {
  Expr number;
  Divisions divisions;
};
// `is_positive` is asked of divisors.
template <class IsPositiveDivisor>
NumberDigit DigitOf(const Expr& e, const IsPositiveDivisor& is_positive) {
  const auto* op = dyn_cast<BinaryNode>(e);
  const bool divides = op != nullptr && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod);
  if (!divides || !is_positive(op->b)) return {e, {}};
  NumberDigit digit = DigitOf(op->a, is_positive);
  digit.divisions.push_back({op->op, op->b});
  return digit;
}

// The two constants of n // lower % size; a size of 0: no remainder is taken.
std::optional<std::pair<int64_t, int64_t>> ConstantDigit(const Divisions& divisions) {
  int64_t lower = 1, size = 0;
  for (const auto& [op, by] : divisions) {
    const auto divisor = AsInt(by);
    if (!divisor || *divisor <= 0) return std::nullopt;
    const bool divides = size % *divisor == 0;
    if (op == BinaryOp::kFloorMod) {
      if (!divides && size > *divisor) return std::nullopt;
      if (divides) size = *divisor;
      continue;
    }
    if (!divides || __builtin_mul_overflow(lower, *divisor, &lower)) return std::nullopt;
    size /= *divisor;
  }
  return std::pair(lower, size);
}

// Whether each digit can be 0 while the others stay: no part of the number is in two of them.
bool AreSeparate(std::vector<Divisions> digits) {
  if (digits.size() < 2) return true;
  if (std::ranges::any_of(digits, [](const Divisions& digit) { return digit.empty(); })) return false;
  // n // d and n % d say nothing of each other.
  const Expr by = digits[0][0].second;
  if (std::ranges::all_of(digits, [&](const Divisions& digit) { return arith::SameExpr(digit[0].second, by); })) {
    std::vector<Divisions> quotients, remainders;
    for (Divisions& digit : digits) {
      auto& side = digit[0].first == BinaryOp::kFloorDiv ? quotients : remainders;
      digit.erase(digit.begin());
      side.push_back(std::move(digit));
    }
    return AreSeparate(std::move(quotients)) && AreSeparate(std::move(remainders));
  }
  std::vector<std::pair<int64_t, int64_t>> places;
  for (const Divisions& digit : digits) {
    const auto place = ConstantDigit(digit);
    if (!place) return false;
    places.push_back(*place);
  }
  std::ranges::sort(places);
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    int64_t end = 0;
    if (places[i].second == 0 || __builtin_mul_overflow(places[i].first, places[i].second, &end)) return false;
    if (places[i + 1].first % end != 0) return false;
  }
  return true;
}

// Whether all that uses these loops is digits of one number that counts up from 0 without gaps: before each iteration
// stands the one whose reduce digits are 0 and whose others are the same.
bool DigitsCountUp(const BlockRealizeNode& realize, const Loops& loops, const Loops& late) {
  // An iterator has a value of its domain wherever the block runs.
  const auto is_positive = [&](const Expr& divisor) {
    return AsInt(divisor).value_or(0) > 0 || std::ranges::any_of(realize.block->iter_vars, [&](const IterVar& iter) {
             return arith::SameExpr(iter.domain.extent, divisor);
           });
  };
  arith::Analyzer analyzer;
  Expr number;
  std::vector<Divisions> digits;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    if (!Meet(UsedIn(realize.bindings[i], loops), late)) continue;
    NumberDigit digit = DigitOf(realize.bindings[i], is_positive);
    if (number && !arith::SameExpr(number, digit.number)) return false;
    number = digit.number;
    digits.push_back(std::move(digit.divisions));
    const IterVar& iter = realize.block->iter_vars[i];
    if (iter.kind == IterKind::kReduce && !analyzer.CanProveEqual(iter.domain.min, Const(iter.var.dtype(), 0))) {
      return false;
    }
  }
  if (!number) return false;
  const Loops counting = UsedIn(number, loops);
  VarMap first;
  for (const ForNode* loop : counting) first[loop->var] = loop->min;
  return CountsUp(number, counting, /*without_gaps=*/true) && HoldsEarlier(realize.predicate, counting) &&
         analyzer.CanProveEqual(Substitute(number, first), Const(number.dtype(), 0)) && AreSeparate(std::move(digits));
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
  std::erase_if(reduce, [&](size_t i) { return std::ranges::find(doubtful, i) != doubtful.end(); });
  return (DigitsCountUp(realize, loops, late) && PredicateAllowsFirst(realize, loops, reduce)) ||
         AreDigitsOfLoops(realize, loops) || CountedInitRunsFirst(realize, loops);
}

namespace {

class Checker : public ScopeChecker {
 protected:
  void CheckScope(const BlockScope& scope) override {
    for (const ScopeChild& child : scope.children()) {
      if (InitRunsFirst(*child.realize, child.loops)) continue;
      Refute("init order", child.id(),
             "block " + child.realize->block->name + " may add to an element before its init has run" +
                 WhatLeavesItOut(child));
    }
  }

 private:
  // The condition, where nothing else does.
  static std::string WhatLeavesItOut(const ScopeChild& child) {
    const BlockRealizeNode& realize = *child.realize;
    const Stmt always = Realize(realize.bindings, True(), realize.block);
    if (IsTrue(realize.predicate) || !InitRunsFirst(*cast<BlockRealizeNode>(always), child.loops)) return "";
    return ": the instance with the init may be left out by " + Print(realize.predicate) +
           "; a condition in the body or on the added value leaves the init in";
  }
};

}  // namespace

Diagnostics CheckInitOrder(const Function& function) { return DiagnosticsOf<Checker>(function); }

}  // namespace tilewright
