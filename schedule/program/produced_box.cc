#include "schedule/program/produced_box.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/relaxed_region.h"

namespace tilewright {
namespace {

arith::Domain RangesOf(const std::vector<const ForNode*>& loops) {
  arith::Domain ranges;
  for (const ForNode* loop : loops) ranges.push_back({loop->var, {loop->min, loop->extent}});
  return ranges;
}

// Whether values of an iterator beyond its domain are elements that other instances write: of v0 * 3 + v1, v1 = 3 is
// v1 = 0 of the next v0, while nothing is beyond the last v0. `written` is one dimension of what an instance writes.
bool RunsIntoOthers(const BlockNode& block, const IterVar& own, const Range& written, arith::Analyzer* analyzer) {
  if (!UsesVar(written.min, own.var)) return false;
  std::vector<Var> vars = {own.var};
  std::vector<Expr> extents = {own.domain.extent};
  for (const IterVar& other : block.iter_vars) {
    if (other.var.same_as(own.var) || IsInt(other.domain.extent, 1) || !UsesVar(written.min, other.var)) continue;
    vars.push_back(other.var);
    extents.push_back(other.domain.extent);
  }
  if (vars.size() == 1) return false;
  const auto form = arith::DetectLinear(written.min, vars, analyzer);
  const auto width = AsInt(written.extent);
  if (!form || !width) return true;
  int64_t stride = 0, reach = *width - 1;  // of the iterator, and of one step of it with all others
  for (size_t i = 0; i < vars.size(); ++i) {
    const auto coefficient = AsInt(form->coefficients[i]), extent = AsInt(extents[i]);
    if (!coefficient || !extent) return true;
    if (i == 0) {
      stride = std::abs(*coefficient);
    } else {
      reach += std::abs(*coefficient) * (*extent - 1);
    }
  }
  return stride <= reach;
}

// Whether another iterator depends on a loop that this one depends on.
bool SharesLoops(const BlockRealizeNode& realize, size_t own, const std::vector<const ForNode*>& loops) {
  return std::ranges::any_of(loops, [&](const ForNode* loop) {
    if (!UsesVar(realize.bindings[own], loop->var)) return false;
    const auto uses = std::ranges::count_if(realize.bindings, [&](const Expr& b) { return UsesVar(b, loop->var); });
    return uses > 1;
  });
}

// The producer below its loops. An iterator that only the predicate keeps from running into elements of others has a
// loop of its own instead, over those of its values that are inside of its domain. Null when these are not known, or
// depend on the values of other iterators.
Stmt RunInsideOfDomains(const BlockRealizeNode& producer, const std::vector<const ForNode*>& loops,
                        const BufferRegion& write, arith::Analyzer* analyzer) {
  const BlockNode& block = *producer.block;
  const arith::Domain ranges = RangesOf(loops);
  std::vector<ForNode::Fields> nest;
  for (const ForNode* loop : loops) nest.push_back(loop->fields());
  std::vector<Expr> bindings = producer.bindings;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    const Range& domain = iter.domain;
    const auto into_others = [&](const Range& written) { return RunsIntoOthers(block, iter, written, analyzer); };
    if (std::ranges::none_of(write.region, into_others)) continue;
    const arith::Region value = {{bindings[i], Const(bindings[i].dtype(), 1)}};
    const auto values = arith::MayTouch(value, ranges, Expr(), analyzer);
    if (!values) return {};
    const Range& range = (*values)[0];
    if (analyzer->CanProveInside(range, domain)) continue;
    const auto taken = arith::MustCover(value, ranges, Expr(), analyzer);
    if (!taken || !arith::Covers(*taken, *values, {}, analyzer) || SharesLoops(producer, i, loops)) return {};
    const Expr min = analyzer->Simplify(Max(range.min, domain.min));
    const Expr end = analyzer->Simplify(Min(range.min + range.extent, domain.min + domain.extent));
    const Var var(iter.var.name(), iter.var.dtype());
    nest.push_back({.var = var, .min = min, .extent = analyzer->Simplify(end - min)});
    bindings[i] = var;
  }
  return Nest(std::move(nest), Realize(std::move(bindings), True(), producer.block));
}

}  // namespace

std::optional<std::vector<Range>> BoxWithoutGaps(const BlockRealizeNode& producer,
                                                 const std::vector<const ForNode*>& loops, const BufferRegion& write,
                                                 arith::Analyzer* analyzer) {
  const Stmt nest = RunInsideOfDomains(producer, loops, write, analyzer);
  if (!nest) return std::nullopt;
  const auto [realize, below] = BlocksWithLoopsBelow(nest)[0];
  const std::vector<Range> box = RelaxedRegion(write, *realize, below).region;
  VarMap bindings;
  for (size_t i = 0; i < realize->bindings.size(); ++i) {
    bindings[realize->block->iter_vars[i].var] = realize->bindings[i];
  }
  const auto covered = arith::MustCover(Substitute(write, bindings).region, RangesOf(below), Expr(), analyzer);
  if (!covered || !arith::Covers(*covered, box, write.buffer->shape, analyzer)) return std::nullopt;
  return box;
}

}  // namespace tilewright
