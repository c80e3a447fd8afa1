#include "schedule/program/relaxed_region.h"

#include <algorithm>

#include "base/check.h"
#include "ir/analysis.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

// `range` without what lies outside of [0, extent), where that can be told: of loops that a symbolic extent was split
// into, the last iterations reach beyond it.
Range CutToExtent(const Range& range, const Expr& extent, arith::Analyzer* analyzer) {
  auto min = AsInt(range.min), length = AsInt(range.extent), size = AsInt(extent);
  if (!min || !length || !size) {
    const bool beyond = min == 0 && !StructuralEqual(range.extent, extent) &&
                        analyzer->CanProveLessEqual(CastTo(range.extent.dtype(), extent), range.extent);
    return beyond ? Range{range.min, CastTo(range.extent.dtype(), extent)} : range;
  }
  const int64_t begin = std::clamp<int64_t>(*min, 0, *size);
  const int64_t end = std::clamp<int64_t>(*min + *length, begin, *size);
  return {Const(range.min.dtype(), begin), Const(range.extent.dtype(), end - begin)};
}

// What the iterators reach in their domains, where that is less than what the loops reach: of loops that a symbolic
// extent was split into, the last iterations do nothing.
Range CutToDomains(Range range, const Range& of_iterators, const BlockNode& block, arith::Analyzer* analyzer) {
  if (AsInt(range.min) && AsInt(range.extent)) return range;
  Domains domains;
  for (const IterVar& iter : block.iter_vars) domains[iter.var] = iter.domain;
  std::optional<Range> reached = RelaxRange(of_iterators, domains);
  if (!reached) return range;
  reached = analyzer->Simplify(*reached);
  const bool less = analyzer->CanProveLessEqual(range.min, reached->min) &&
                    analyzer->CanProveLessEqual(reached->min + reached->extent, range.min + range.extent);
  return less ? *reached : range;
}

// Inner loops first, so that a bound which mentions an outer loop is relaxed after it.
std::optional<Range> RelaxInTurn(Range range, const std::vector<const ForNode*>& loops, arith::Analyzer* analyzer) {
  for (size_t i = loops.size(); i-- > 0;) {
    if (!UsesVar(range, loops[i]->var)) continue;
    std::optional<Range> relaxed = RelaxRange(range, {{loops[i]->var, {loops[i]->min, loops[i]->extent}}});
    if (!relaxed) return std::nullopt;
    range = analyzer->Simplify(*relaxed);
  }
  return range;
}

// All loops at once, where no range depends on another loop: of (i + j) // 2, one loop after the other has ends that
// vary with the next.
std::optional<Range> RelaxTogether(const Range& range, const std::vector<const ForNode*>& loops,
                                   arith::Analyzer* analyzer) {
  Domains domains;
  for (const ForNode* loop : loops) {
    for (const ForNode* other : loops) {
      if (UsesVar({other->min, other->extent}, loop->var)) return std::nullopt;
    }
    domains[loop->var] = {loop->min, loop->extent};
  }
  const std::optional<Range> relaxed = RelaxRange(range, domains);
  if (!relaxed) return std::nullopt;
  return analyzer->Simplify(*relaxed);
}

}  // namespace

BufferRegion RelaxedRegion(const BufferRegion& region, const BlockRealizeNode& realize,
                           const std::vector<const ForNode*>& loops) {
  VarMap values;
  for (size_t i = 0; i < realize.bindings.size(); ++i) values[realize.block->iter_vars[i].var] = realize.bindings[i];
  BufferRegion relaxed = Substitute(region, values);
  arith::Analyzer analyzer;
  for (size_t d = 0; d < relaxed.region.size(); ++d) {
    Range& range = relaxed.region[d];
    const Expr& extent = region.buffer->shape[d];
    const Range simplified = analyzer.Simplify(range);
    std::optional<Range> bounded = RelaxInTurn(simplified, loops, &analyzer);
    if (!bounded) bounded = RelaxTogether(simplified, loops, &analyzer);
    range = bounded
                ? CutToExtent(CutToDomains(*bounded, region.region[d], *realize.block, &analyzer), extent, &analyzer)
                : Range{Const(extent.dtype(), 0), extent};
  }
  return relaxed;
}

bool IsSharedByThreadsOf(const ForNode& loop, const Scope& scope) {
  if (loop.kind != ForKind::kThreadBound) return false;
  if (scope.kind() == MemoryKind::kShared) return !IsBlockTag(loop.thread_tag);
  return scope.kind() == MemoryKind::kWarp && loop.thread_tag == "threadIdx.x";
}

bool ProvablyInside(arith::Analyzer* analyzer, const std::vector<Range>& inner, const std::vector<Range>& outer) {
  TW_CHECK(inner.size() == outer.size());
  for (size_t d = 0; d < inner.size(); ++d) {
    if (!analyzer->CanProveInside(inner[d], outer[d])) return false;
  }
  return true;
}

}  // namespace tilewright
