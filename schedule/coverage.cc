#include "schedule/coverage.h"

#include <algorithm>
#include <unordered_set>

#include "ir/arith/linear.h"
#include "schedule/relaxed_region.h"

namespace tilewright {
namespace {

using VarSet = std::unordered_set<const Node*>;

// Smallest coefficient first.
void SortTerms(std::vector<LinearTerm>* terms) {
  std::sort(terms->begin(), terms->end(),
            [](const LinearTerm& a, const LinearTerm& b) { return a.coefficient < b.coefficient; });
}

const Range& RangeOf(const Var& var, const std::vector<RangedVar>& vars) {
  return std::find_if(vars.begin(), vars.end(), [&](const RangedVar& v) { return v.var.same_as(var); })->range;
}

// Whether [min, min + extent) over the values of the variables in `min` covers `target`: from the smallest coefficient
// on, each term must not step over what the ones before it cover.
bool CoversInterval(const Range& tuple, const LinearTerms& linear, const std::vector<RangedVar>& vars,
                    const Range& target, arith::Analyzer* analyzer) {
  std::vector<LinearTerm> terms = linear.terms;
  SortTerms(&terms);
  Expr begin = linear.rest, covered = tuple.extent;
  for (const LinearTerm& term : terms) {
    const Range& range = RangeOf(term.var, vars);
    const Expr step = Const(term.var.dtype(), term.coefficient);
    if (term.coefficient <= 0 || !analyzer->CanProveLessEqual(step, covered)) return false;
    begin = begin + range.min * step;
    covered = analyzer->Simplify(covered + (range.extent - 1) * step);
  }
  return analyzer->CanProveLessEqual(begin, target.min) &&
         analyzer->CanProveLessEqual(target.min + target.extent, begin + covered);
}

}  // namespace

std::vector<RangedVar> RangedVars(const std::vector<const ForNode*>& loops) {
  std::vector<RangedVar> vars;
  vars.reserve(loops.size());
  for (const ForNode* loop : loops) vars.push_back({loop->var, {loop->min, loop->extent}});
  return vars;
}
std::vector<RangedVar> RangedVars(const BlockNode& block) {
  std::vector<RangedVar> vars;
  vars.reserve(block.iter_vars.size());
  for (const IterVar& iter : block.iter_vars) vars.push_back({iter.var, iter.domain});
  return vars;
}

std::optional<LinearTerms> DetectLinearTerms(const Expr& e, const std::vector<RangedVar>& vars,
                                             arith::Analyzer* analyzer) {
  std::vector<Var> among;
  among.reserve(vars.size());
  for (const RangedVar& ranged : vars) among.push_back(ranged.var);
  std::optional<arith::LinearForm> linear = arith::DetectLinear(e, among, analyzer);
  if (!linear) return std::nullopt;
  LinearTerms result{{}, linear->base};
  for (size_t i = 0; i < among.size(); ++i) {
    const std::optional<int64_t> coefficient = AsInt(linear->coefficients[i]);
    if (!coefficient) return std::nullopt;
    if (*coefficient != 0) result.terms.push_back({among[i], *coefficient});
  }
  return result;
}

bool Covers(const std::vector<Range>& tuples, const std::vector<RangedVar>& vars, const std::vector<Range>& box,
            arith::Analyzer* analyzer) {
  VarSet used;  // each variable may move along one dimension only
  for (size_t d = 0; d < tuples.size(); ++d) {
    std::optional<LinearTerms> linear = DetectLinearTerms(tuples[d].min, vars, analyzer);
    if (!linear) return false;
    for (const LinearTerm& term : linear->terms) {
      if (!used.insert(term.var.get()).second) return false;
    }
    if (!CoversInterval(tuples[d], *linear, vars, box[d], analyzer)) return false;
  }
  return true;
}

bool PredicateOnlyGuardsDomains(const BlockRealizeNode& realize, arith::Analyzer* analyzer) {
  if (IsTrue(realize.predicate)) return true;
  arith::Analyzer::Scope inside(analyzer);
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const Range& domain = realize.block->iter_vars[i].domain;
    analyzer->Assume(domain.min <= realize.bindings[i]);
    analyzer->Assume(realize.bindings[i] < domain.min + domain.extent);
  }
  return analyzer->CanProve(realize.predicate);
}

bool RunsAllInstances(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                      arith::Analyzer* analyzer) {
  arith::Analyzer::Scope inside(analyzer);
  BindLoops(analyzer, loops);
  if (!PredicateOnlyGuardsDomains(realize, analyzer)) return false;
  std::vector<Range> points, domains;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    points.push_back({realize.bindings[i], Const(realize.bindings[i].dtype(), 1)});
    domains.push_back(realize.block->iter_vars[i].domain);
  }
  return Covers(points, RangedVars(loops), domains, analyzer);
}

bool RunsEachInstanceOnce(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                          arith::Analyzer* analyzer) {
  arith::Analyzer::Scope inside(analyzer);
  BindLoops(analyzer, loops);
  const std::vector<RangedVar> vars = RangedVars(loops);
  VarSet used;
  for (const Expr& binding : realize.bindings) {
    std::optional<LinearTerms> linear = DetectLinearTerms(binding, vars, analyzer);
    if (!linear) return false;
    SortTerms(&linear->terms);
    Expr reach = Const(binding.dtype(), 1);  // the terms so far take different values below it
    for (const LinearTerm& term : linear->terms) {
      const Expr step = Const(binding.dtype(), term.coefficient);
      if (term.coefficient <= 0 || !analyzer->CanProveLessEqual(reach, step)) return false;
      reach = analyzer->Simplify(reach + (RangeOf(term.var, vars).extent - 1) * step);
      used.insert(term.var.get());
    }
  }
  return std::all_of(loops.begin(), loops.end(),
                     [&](const ForNode* loop) { return IsInt(loop->extent, 1) || used.contains(loop->var.get()); });
}

}  // namespace tilewright
