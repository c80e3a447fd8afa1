#include "autoschedule/sketch/cpu/chained/chained_tiles.h"

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {

Outcome<SumTile> MakeSumTile(Schedule& sch, LoopRv broadcast, LoopRv loaded, int64_t rows, int64_t width) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> b, sch.Split(broadcast, {Value(), Value(rows)}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> l, sch.Split(loaded, {Value(), Value(width)}));
  TW_RETURN_IF_ERROR(sch.Reorder({l[0], b[0], b[1], l[1]}));
  return SumTile{b[0], b[1], l[1]};
}

Outcome<std::monostate> WriteSum(Schedule& sch, BlockRv sum, LoopRv place, const Var& loaded) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, sum, place));
  const BlockRealizeNode& realize = RealizeOf(sch, sum);
  std::vector<LoopRv> order, spatial;
  std::optional<LoopRv> vector;
  for (const LoopRv& loop : inside) {
    bool reduces = false, loads = false;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (!UsesVar(realize.bindings[i], LoopOf(sch, loop).var)) continue;
      reduces |= realize.block->iter_vars[i].kind == IterKind::kReduce;
      loads |= realize.block->iter_vars[i].var.same_as(loaded);
    }
    if (loads) {
      vector = loop;
    } else {
      (reduces ? order : spatial).push_back(loop);
    }
  }
  if (!vector || order.empty()) {
    return Refusal{"chained_rule", "{block0} is not a sum by vectors", {realize.block->id}};
  }
  const LoopRv reduced = order[0];
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(*vector);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(sum, reduced));
  TW_RETURN_IF_ERROR(WriteOut(sch, init, place, true));
  for (const LoopRv& loop : spatial) TW_RETURN_IF_ERROR(sch.Unroll(loop));
  return sch.Vectorize(*vector);
}

std::optional<size_t> LoopOfIterator(const Schedule& sch, BlockRv block, const std::vector<LoopRv>& loops,
                                     size_t iterator) {
  for (size_t l = 0; l < loops.size(); ++l) {
    if (UsesVar(RealizeOf(sch, block).bindings[iterator], LoopOf(sch, loops[l]).var)) return l;
  }
  return std::nullopt;
}

std::optional<size_t> LoopAlongLast(const Schedule& sch, BlockRv block, const std::vector<LoopRv>& loops) {
  const BlockNode& node = *RealizeOf(sch, block).block;
  const Expr& last = node.writes[0].region.back().min;
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    if (!UsesVar(last, node.iter_vars[i].var)) continue;
    if (const auto loop = LoopOfIterator(sch, block, loops, i)) return loop;
  }
  return std::nullopt;
}

}  // namespace tilewright
