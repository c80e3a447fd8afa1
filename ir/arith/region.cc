#include "ir/arith/region.h"

#include <algorithm>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/expr_text.h"
#include "ir/arith/int_set.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/iter_predicate.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/substitute.h"

namespace tilewright::arith {
namespace {

Expr End(const Range& range) { return range.min + range.extent; }

// Dimensions that are sums of loops whose steps overlap: h * 2 + r with r in [0, 3). A dimension is covered without
// gaps when each step, from the smallest on, is no longer than what the smaller ones cover. Constant steps only.
std::optional<Region> CoverByOverlap(const Region& region, const Domain& relaxed, const Expr& predicate,
                                     Analyzer* analyzer) {
  Analyzer::Scope scope(analyzer);
  std::vector<Var> vars;
  for (const auto& [var, range] : relaxed) {
    analyzer->Bind(var, range);
    vars.push_back(var);
  }
  if (predicate && !analyzer->CanProve(predicate)) return std::nullopt;
  std::vector<bool> used(vars.size(), false);
  Region result;
  for (const Range& range : region) {
    auto form = DetectLinear(range.min, vars, analyzer);
    if (!form) return std::nullopt;
    Expr first = form->base, covered = range.extent;
    std::vector<std::pair<int64_t, size_t>> steps;
    for (size_t v = 0; v < vars.size(); ++v) {
      auto step = AsInt(form->coefficients[v]);
      if (!step || *step < 0) return std::nullopt;
      if (*step == 0) continue;
      // Dimensions that move together do not cover a box.
      if (used[v]) return std::nullopt;
      used[v] = true;
      steps.emplace_back(*step, v);
    }
    std::sort(steps.begin(), steps.end());
    for (const auto& [step, v] : steps) {
      const Range& loop = relaxed[v].second;
      DataType dtype = covered.dtype();
      if (!analyzer->CanProveLessEqual(Const(dtype, step), covered)) return std::nullopt;
      covered = covered + (loop.extent - Const(dtype, 1)) * Const(dtype, step);
      if (loop.min) first = first + loop.min * Const(dtype, step);
    }
    result.push_back({analyzer->Simplify(first), analyzer->Simplify(covered)});
  }
  return result;
}

// Whether what the predicate says of other variables than the relaxed ones is so. That may be less than it seems to
// depend on them: k * 2 + i < 4 is k < 2 for i in [0, 2).
bool HoldsOutside(const Expr& predicate, const Domain& relaxed, Analyzer* analyzer) {
  if (!predicate || IsTrue(predicate)) return true;
  Analyzer::Scope scope(analyzer);
  IterDomain domain(relaxed, analyzer);
  Expr failed;
  // If it says something that is not understood, it is looked at as a whole later.
  return !domain.Apply(predicate, &failed) || !domain.conditional();
}

bool Uses(const IterSum& sum, const IterMark* mark) {
  return std::any_of(sum.args.begin(), sum.args.end(), [&](const IterSplit& split) {
    return split.source.get() == mark || Uses(split.source->sum, mark);
  });
}

// Whether the predicate leaves a value to each variable that the region does not depend on: k * 5 + i < 2 leaves none
// to i when k is 1, and then nothing is touched.
bool LeavesUnusedValues(const IterMap& map, const Domain& relaxed, Analyzer* analyzer) {
  return std::all_of(map.iterators.begin(), map.iterators.end(), [&](const IterMap::Iterator& iterator) {
    const IterMark* mark = iterator.mark.get();
    const bool used =
        std::any_of(map.indices.begin(), map.indices.end(), [&](const IterSum& sum) { return Uses(sum, mark); });
    if (used) return true;
    const DataType dtype = mark->var.dtype();
    const Expr extent = mark->extent.ToExpr(dtype);
    const bool as_before = std::any_of(relaxed.begin(), relaxed.end(), [&](const auto& loop) {
      return loop.first.same_as(mark->var) && SameExpr(loop.second.extent, extent);
    });
    return as_before || analyzer->CanProveLessEqual(Const(dtype, 1), extent);
  });
}

}  // namespace

std::optional<Region> MayTouch(const Region& region, const Domain& relaxed, const Expr& predicate, Analyzer* analyzer) {
  Region result;
  for (const IntSet& set : EvalSet(region, relaxed, analyzer, predicate)) {
    if (!set.IsBounded()) return std::nullopt;
    result.push_back(set.ToRange(analyzer));
  }
  return result;
}

namespace {

std::optional<Region> CoverAsWritten(const Region& region, const Domain& relaxed, const Expr& predicate,
                                     Analyzer* analyzer) {
  if (!HoldsOutside(predicate, relaxed, analyzer)) return std::nullopt;
  std::vector<Expr> starts;
  starts.reserve(region.size());
  for (const Range& range : region) starts.push_back(range.min);
  auto map = DetectIterMap(starts, relaxed, predicate, IterMapLevel::kSurjective, analyzer);
  if (!map) return CoverByOverlap(region, relaxed, predicate, analyzer);
  if (predicate && !IsTrue(predicate) && !LeavesUnusedValues(*map, relaxed, analyzer)) return std::nullopt;
  Region result;
  result.reserve(region.size());
  for (size_t i = 0; i < region.size(); ++i) {
    const IterSum& sum = map->indices[i];
    DataType dtype = starts[i].dtype();
    if (sum.args.empty()) {
      result.push_back({sum.base, region[i].extent});
      continue;
    }
    // Steps of `step` with windows of `extent`: without gaps when the window is as long as a step.
    if (sum.args.back().scale.IsOne() && IsInt(region[i].extent, 1)) {
      result.push_back({sum.base, map->extents[i].ToExpr(dtype)});
      continue;
    }
    Expr step = sum.args.back().scale.ToExpr(dtype);
    if (!analyzer->CanProveLessEqual(step, region[i].extent)) return std::nullopt;
    Expr steps = map->extents[i].ToExpr(dtype);
    result.push_back({sum.base, analyzer->Simplify((steps - 1) * step + region[i].extent)});
  }
  return result;
}

}  // namespace

namespace {

void AddConjuncts(const Expr& predicate, std::vector<Expr>* conjuncts) {
  const auto* both = dyn_cast<BinaryNode>(predicate);
  if (both == nullptr || both->op != BinaryOp::kAnd) return conjuncts->push_back(predicate);
  AddConjuncts(both->a, conjuncts);
  AddConjuncts(both->b, conjuncts);
}

// The predicate without what it says of variables that the region does not depend on, where that holds for the first
// values of them: B[i] is written under k * 32 + t < 50, since it is when k is 0, as long as t < 32.
Expr WithoutUnused(const Region& region, const Domain& relaxed, const Expr& predicate, Analyzer* analyzer) {
  if (!predicate || IsTrue(predicate)) return predicate;
  Analyzer::Scope scope(analyzer);
  VarMap first;
  for (const auto& [var, range] : relaxed) {
    const bool used = std::ranges::any_of(
        region, [&](const Range& part) { return UsesVar(part.min, var) || UsesVar(part.extent, var); });
    if (!used) {
      first[var] = first.empty() ? range.min : Substitute(range.min, first);
    } else {
      analyzer->Bind(var, range);
    }
  }
  if (first.empty()) return predicate;
  std::vector<Expr> conjuncts;
  AddConjuncts(predicate, &conjuncts);
  Expr rest = Const(DataType::Bool(), 1);
  for (const Expr& conjunct : conjuncts) {
    const bool of_first = UsesVar(conjunct, [&](const VarNode* var) { return first.contains(Var(var)); });
    // All of them together: a variable has one value.
    if (of_first && !analyzer->CanProve(Substitute(conjunct, first))) return predicate;
    if (!of_first) rest = IsTrue(rest) ? conjunct : And(rest, conjunct);
  }
  return rest;
}

// The border of a box that a condition on one of its dimensions draws: k0 * 10 + f % 10 < 64 where the dimension is
// k0 * 10 + f % 10.
struct Border {
  size_t dimension;
  Expr begin, end;  // one of them is null
};
std::optional<Border> BorderOf(const Expr& condition, const Region& region, const Domain& relaxed, Analyzer* analyzer) {
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr || (op->op != BinaryOp::kLT && op->op != BinaryOp::kLE)) return std::nullopt;
  const auto varies = [&](const Expr& e) {
    return std::ranges::any_of(relaxed, [&](const auto& loop) { return UsesVar(e, loop.first); });
  };
  if (varies(op->a) == varies(op->b)) return std::nullopt;
  const bool is_end = varies(op->a);
  const Expr &moving = is_end ? op->a : op->b, &fixed = is_end ? op->b : op->a;
  for (size_t d = 0; d < region.size(); ++d) {
    if (!IsInt(region[d].extent, 1) || region[d].min.dtype() != moving.dtype() || !varies(region[d].min)) continue;
    const Expr distance = analyzer->Simplify(moving - region[d].min);
    if (varies(distance)) continue;
    const bool next =
        (op->op == BinaryOp::kLE) == is_end;  // moving <= fixed ends behind it, fixed < moving begins there
    const Expr at = analyzer->Simplify(fixed - distance + Const(moving.dtype(), next ? 1 : 0));
    return is_end ? Border{d, {}, at} : Border{d, at, {}};
  }
  return std::nullopt;
}

// The box without what conditions on single dimensions cut off. What is left of the predicate has to cover the box.
std::optional<Region> CoverUpToBorders(const Region& region, const Domain& relaxed, const Expr& predicate,
                                       Analyzer* analyzer) {
  if (!predicate || IsTrue(predicate)) return std::nullopt;
  std::vector<Border> borders;
  Expr rest = True();
  {
    Analyzer::Scope scope(analyzer);
    for (const auto& [var, range] : relaxed) analyzer->Bind(var, range);
    std::vector<Expr> conjuncts;
    AddConjuncts(predicate, &conjuncts);
    for (const Expr& conjunct : conjuncts) {
      if (auto border = BorderOf(conjunct, region, relaxed, analyzer)) {
        borders.push_back(*std::move(border));
      } else {
        rest = IsTrue(rest) ? conjunct : And(rest, conjunct);
      }
    }
  }
  if (borders.empty()) return std::nullopt;
  std::optional<Region> covered = CoverAsWritten(region, relaxed, rest, analyzer);
  if (!covered) return std::nullopt;
  for (const Border& border : borders) {
    Range& range = (*covered)[border.dimension];
    const Expr begin = border.begin ? Max(range.min, border.begin) : range.min;
    const Expr end = border.end ? Min(End(range), border.end) : End(range);
    if (!analyzer->CanProveLess(begin, end)) return std::nullopt;  // The border may lie beyond the box.
    range = {analyzer->Simplify(begin), analyzer->Simplify(end - begin)};
  }
  return covered;
}

}  // namespace

std::optional<Region> MustCover(const Region& region, const Domain& relaxed, const Expr& given, Analyzer* analyzer) {
  const Expr predicate = WithoutUnused(region, relaxed, given, analyzer);
  if (auto covered = CoverAsWritten(region, relaxed, predicate, analyzer)) return covered;
  if (auto covered = CoverUpToBorders(region, relaxed, predicate, analyzer)) return covered;
  // n values in a row have all remainders of a division by n.
  Region dividends = region;
  std::vector<std::pair<size_t, int64_t>> divisors;
  for (size_t i = 0; i < region.size(); ++i) {
    const auto* op = dyn_cast<BinaryNode>(region[i].min);
    if (op == nullptr || op->op != BinaryOp::kFloorMod || !IsInt(region[i].extent, 1)) continue;
    const auto divisor = AsInt(op->b);
    if (!divisor || *divisor <= 0) continue;
    dividends[i].min = op->a;
    divisors.emplace_back(i, *divisor);
  }
  if (divisors.empty()) return std::nullopt;
  auto covered = CoverAsWritten(dividends, relaxed, predicate, analyzer);
  for (const auto& [i, divisor] : divisors) {
    if (!covered || AsInt((*covered)[i].extent).value_or(0) < divisor) return std::nullopt;
    const DataType dtype = region[i].min.dtype();
    (*covered)[i] = {Const(dtype, 0), Const(dtype, divisor)};
  }
  return covered;
}

bool Covers(const Region& provided, const Region& needed, const std::vector<Expr>& shape, Analyzer* analyzer,
            std::string* reason) {
  auto fail = [&](size_t dimension, const char* what, const Expr& a, const Expr& b) {
    if (reason != nullptr) {
      *reason = "dimension " + std::to_string(dimension) + ": " + what + " " + ToText(analyzer->Simplify(a)) +
                " is provided, " + ToText(analyzer->Simplify(b)) + " is needed";
    }
    return false;
  };
  for (size_t i = 0; i < provided.size(); ++i) {
    // The ends as they are say enough nearly always.
    if (analyzer->CanProveInside(needed[i], provided[i])) continue;
    Expr first = needed[i].min, end = End(needed[i]);
    if (!shape.empty()) {
      first = Max(first, Const(first.dtype(), 0));
      end = Min(end, shape[i]);
    }
    if (!analyzer->CanProveLessEqual(provided[i].min, first)) return fail(i, "from", provided[i].min, first);
    if (!analyzer->CanProveLessEqual(end, End(provided[i]))) return fail(i, "to", End(provided[i]), end);
  }
  return true;
}

Region UnionRegions(const Region& a, const Region& b, Analyzer* analyzer) {
  Region result;
  for (size_t i = 0; i < a.size(); ++i) {
    Expr min = analyzer->Simplify(Min(a[i].min, b[i].min));
    Expr end = analyzer->Simplify(Max(End(a[i]), End(b[i])));
    result.push_back({min, analyzer->Simplify(end - min)});
  }
  return result;
}

}  // namespace tilewright::arith
