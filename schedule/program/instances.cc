#include "schedule/program/instances.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/substitute.h"
#include "schedule/program/loop_ranges.h"

namespace tilewright {
namespace {

bool CoversAll(const arith::Region& region, const arith::Domain& domain, const arith::Region& box,
               arith::Analyzer* analyzer) {
  const std::optional<arith::Region> covered = arith::MustCover(region, domain, {}, analyzer);
  return covered && arith::Covers(*covered, box, {}, analyzer);
}

}  // namespace

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
  BindLoops(*analyzer, loops);
  if (!PredicateOnlyGuardsDomains(realize, analyzer)) return false;
  // Loops may run further than the domains, where the predicate is false: what they reach is looked at without it.
  arith::Region points, domains;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    points.push_back({realize.bindings[i], Const(realize.bindings[i].dtype(), 1)});
    domains.push_back(realize.block->iter_vars[i].domain);
  }
  return CoversAll(points, DomainOf(loops), domains, analyzer);
}

bool RunsEachInstanceOnce(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                          arith::Analyzer* analyzer) {
  const std::optional<arith::IterMap> map =
      arith::DetectIterMap(realize.bindings, DomainOf(loops), {}, arith::IterMapLevel::kNone, analyzer);
  return map && map->injective;
}

bool TouchesAllOf(const BlockNode& block, const std::vector<Range>& region, const std::vector<Range>& box,
                  arith::Analyzer* analyzer) {
  return CoversAll(region, DomainOf(block), box, analyzer);
}

bool IsDoneBefore(const BlockScope& scope, const ScopeChild& child, const ForNode& loop) {
  for (const ScopeChild& other : scope.children()) {
    if (!other.loops.empty() && other.loops[0] == &loop) return false;
    if (&other == &child) return true;
  }
  return false;
}

Expr OfIterators(const ScopeChild& child) {
  const BlockRealizeNode& realize = *child.realize;
  VarMap iterators;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const auto* loop_var = dyn_cast<VarNode>(realize.bindings[i]);
    if (loop_var != nullptr) iterators[Var(loop_var)] = realize.block->iter_vars[i].var;
  }
  const Expr condition = Substitute(realize.predicate, iterators);
  const bool uses_loops = std::any_of(child.loops.begin(), child.loops.end(),
                                      [&](const ForNode* loop) { return UsesVar(condition, loop->var); });
  return uses_loops ? Expr() : condition;
}

bool HasValuesBefore(const Function& function, const BlockScope& scope, const ScopeChild& child, const Buffer& buffer) {
  if (std::ranges::any_of(function->params, [&](const Param& param) { return param.buffer.same_as(buffer); })) {
    return true;
  }
  const std::vector<Range> all = BufferRegion::Full(buffer).region;
  return std::ranges::any_of(scope.children(), [&](const ScopeChild& other) {
    const bool before = &other < &child;
    return before && std::ranges::any_of(other.realize->block->writes, [&](const BufferRegion& write) {
             arith::Analyzer analyzer;
             return write.buffer.same_as(buffer) && RunsAllInstances(*other.realize, other.loops, &analyzer) &&
                    TouchesAllOf(*other.realize->block, write.region, all, &analyzer);
           });
  });
}

bool WritesAllOfPart(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                     const std::vector<Range>& written, const std::vector<Range>& part, const std::vector<Range>& box,
                     arith::Analyzer* analyzer) {
  VarMap values;
  for (size_t i = 0; i < realize.bindings.size(); ++i) values[realize.block->iter_vars[i].var] = realize.bindings[i];
  arith::Region region, inside;
  for (const Range& range : written) region.push_back(Substitute(range, values));
  for (size_t d = 0; d < part.size(); ++d) {
    const Expr begin = analyzer->Simplify(Max(part[d].min, box[d].min));
    const Expr end = analyzer->Simplify(Min(part[d].min + part[d].extent, box[d].min + box[d].extent));
    inside.push_back({begin, analyzer->Simplify(end - begin)});
  }
  const auto covers = [&](const Expr& predicate) {
    const std::optional<arith::Region> covered = arith::MustCover(region, DomainOf(loops), predicate, analyzer);
    return covered && arith::Covers(*covered, inside, {}, analyzer);
  };
  if (covers(realize.predicate)) return true;
  // Loops may run further than the domains, where the predicate is false: to elements outside of the box, where each
  // index is an iterator whose domain holds the box.
  for (size_t d = 0; d < written.size(); ++d) {
    const auto iter =
        std::find_if(realize.block->iter_vars.begin(), realize.block->iter_vars.end(),
                     [&](const IterVar& candidate) { return candidate.var.get() == written[d].min.get(); });
    if (!IsInt(written[d].extent, 1)) return false;
    if (AsInt(written[d].min)) continue;
    if (iter == realize.block->iter_vars.end() || !analyzer->CanProveInside(box[d], iter->domain)) return false;
  }
  arith::Analyzer::Scope all_loops(analyzer);
  BindLoops(*analyzer, loops);
  return PredicateOnlyGuardsDomains(realize, analyzer) && covers({});
}

}  // namespace tilewright
