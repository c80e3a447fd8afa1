#include "autoschedule/movement/cpu/operand_stages.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>

#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/computed_places.h"
#include "autoschedule/program/value_growth.h"
#include "base/status_macros.h"
#include "intrin/transpose_tile.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

// Lets tiles of `along`, in which the operand is contiguous, and of one of the other loops be transposed in registers,
// by the widest that there is. Whether there are such tiles; nothing is changed otherwise.
bool TransposeByTiles(Schedule& sch, const std::vector<LoopRv>& loops, LoopRv along,
                      const std::vector<TransposeTile>& tiles) {
  for (const TransposeTile& tile : tiles) {
    if (ExtentOf(sch, along).value_or(1) % tile.depth != 0) continue;
    for (const LoopRv& across : loops) {
      if (across.index == along.index || ExtentOf(sch, across).value_or(1) % tile.rows != 0) continue;
      const auto apply = [&](Schedule& attempt) -> Outcome<std::monostate> {
        TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, attempt.Split(across, {Value(), Value(tile.rows)}));
        TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, attempt.Split(along, {Value(), Value(tile.depth)}));
        TW_RETURN_IF_ERROR(attempt.Reorder({rows[0], columns[0], rows[1], columns[1]}));
        return attempt.Tensorize(rows[1], tile.name);
      };
      if (Attempt(sch, apply)) return true;
    }
  }
  return false;
}

// Lets the rows of groups be interleaved in registers: vectors of part of `along`, in which the operand is contiguous,
// and of a group along another loop, which the panels' last dimension holds. Whether that was possible; nothing is
// changed otherwise.
bool InterleaveGroups(Schedule& sch, BlockRv stage, const std::vector<LoopRv>& loops, LoopRv along,
                      const Target& target) {
  const Block block = RealizeOf(sch, stage).block;
  const auto* store = dyn_cast<StoreNode>(block->body);
  const Buffer& panels = block->writes[0].buffer;
  const int64_t group = AsInt(panels->shape.back()).value_or(0);
  if (store == nullptr || group < 2) return false;
  const int64_t columns = target.lanes(panels->dtype.bits()) / group;
  if (columns < 2 || ExtentOf(sch, along).value_or(1) % columns != 0) return false;
  for (const LoopRv& depth : loops) {
    if (depth.index == along.index || ExtentOf(sch, depth).value_or(1) % group != 0) continue;
    const bool groups = std::ranges::any_of(std::views::iota(size_t{0}, block->iter_vars.size()), [&](size_t i) {
      return UsesVar(RealizeOf(sch, stage).bindings[i], LoopOf(sch, depth).var) &&
             UsesVar(store->indices.back(), block->iter_vars[i].var);
    });
    if (!groups) continue;
    return Attempt(sch, [&](Schedule& attempt) -> Outcome<std::monostate> {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, attempt.Split(depth, {Value(), Value(group)}));
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, attempt.Split(along, {Value(), Value(columns)}));
      TW_RETURN_IF_ERROR(attempt.Reorder({rows[0], parts[0], parts[1], rows[1]}));
      TW_ASSIGN_OR_RETURN(const LoopRv vector, attempt.Fuse({parts[1], rows[1]}));
      return attempt.Vectorize(vector);
    });
  }
  return false;
}

// Whether a stage chooses between what it copies and zero.
bool IsPadded(const BlockNode& stage) {
  const auto* store = dyn_cast<StoreNode>(stage.body);
  const auto* value = store == nullptr ? nullptr : dyn_cast<CallNode>(store->value);
  return value != nullptr && value->op == kIfThenElse;
}

// The iterator along the last dimension of panels, or null.
const IterVar* PanelIterator(const BlockNode& stage) {
  const auto* store = dyn_cast<StoreNode>(stage.body);
  for (const IterVar& iter : stage.iter_vars) {
    if (store != nullptr && ExtentOf(iter) != 1 && UsesVar(store->indices.back(), iter.var)) return &iter;
  }
  return nullptr;
}

// Whether neighbours along the iterator are neighbours in what the stage copies.
bool CopiesNeighbours(const BlockNode& stage, const IterVar& iter) {
  const auto i = static_cast<size_t>(&iter - stage.iter_vars.data());
  return std::ranges::all_of(AccessesOf(stage),
                             [&](const Access& access) { return access.store || access.strides[i] == 1; });
}

// Whether the last dimension of panels holds whole vectors. That of narrow types may be a group along the depth.
bool HoldsVectors(const Buffer& panels, const Target& target) {
  return AsInt(panels->shape.back()).value_or(0) >= target.lanes(panels->dtype.bits());
}

// Whether a stage copies rows that lie across panels, as those of its innermost loop.
bool LiesAcross(const BlockNode& stage, const Target& target) {
  if (!IteratorsOfPlaces(stage).empty()) return false;
  const IterVar* panel = PanelIterator(stage);
  return panel == nullptr || !HoldsVectors(stage.writes[0].buffer, target) || !CopiesNeighbours(stage, *panel);
}

// PackInLoop of a padded operand that lies the other way round: a copy with the padding first, whole rows of it, which
// tiles then transpose without conditions. Refused where they do not.
Outcome<std::monostate> PackPadded(Schedule& sch, BlockRv stage, LoopRv panel_loop, const Target& target) {
  TW_ASSIGN_OR_RETURN(const BlockRv pack,
                      sch.Reindex(stage, Value::List{Value("write"), Value(0)}, Value::List{}, /*skip_simplify=*/true));
  const Buffer& panels = RealizeOf(sch, pack).block->writes[0].buffer;
  TW_RETURN_IF_ERROR(sch.ComputeAt(pack, panel_loop));
  TW_RETURN_IF_ERROR(sch.ComputeAt(stage, panel_loop));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, LoopsInside(sch, stage, panel_loop));
  TW_RETURN_IF_ERROR(sch.Vectorize(rows.back()));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, pack, panel_loop));
  if (!TransposeByTiles(sch, loops, loops.back(), TransposeTiles(target, panels->dtype))) {
    return Refusal{"pack_padded", "no tile transposes what {block0} copies", {RealizeOf(sch, pack).block->id}};
  }
  return std::monostate();
}

// Whether neighbours along the iterator are stored next to each other.
bool StoresAlong(const BlockNode& block, size_t iterator) {
  return std::ranges::all_of(AccessesOf(block),
                             [&](const Access& access) { return !access.store || access.strides[iterator] == 1; });
}

// Vectors along another loop than `along`, in which the operand is contiguous: that along which panels are stored and
// the operand is not contiguous. A cache line of them, one beside the other, is transposed in registers by lowering,
// also where the last ones are left out.
// Whether there is such a loop; nothing is changed otherwise.
bool TransposeByLoads(Schedule& sch, BlockRv stage, const std::vector<LoopRv>& loops, LoopRv along,
                      const Target& target) {
  const Block block = RealizeOf(sch, stage).block;
  const int64_t lanes = target.lanes(block->writes[0].buffer->dtype.bits());
  const int64_t line = target.Nearest().line_bytes / block->writes[0].buffer->dtype.bytes();
  if (ExtentOf(sch, along).value_or(1) % line != 0) return false;
  for (const LoopRv& across : loops) {
    if (across.index == along.index || ExtentOf(sch, across).value_or(1) % lanes != 0) continue;
    const auto is_stored = [&](size_t i) {
      return UsesVar(RealizeOf(sch, stage).bindings[i], LoopOf(sch, across).var) && StoresAlong(*block, i) &&
             !CopiesNeighbours(*block, block->iter_vars[i]);
    };
    if (std::ranges::none_of(std::views::iota(size_t{0}, block->iter_vars.size()), is_stored)) continue;
    return Attempt(sch, [&](Schedule& attempt) -> Outcome<std::monostate> {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> vectors, attempt.Split(across, {Value(), Value(lanes)}));
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> lines, attempt.Split(along, {Value(), Value(line)}));
      TW_RETURN_IF_ERROR(attempt.Reorder({vectors[0], lines[0], lines[1], vectors[1]}));
      TW_RETURN_IF_ERROR(attempt.Unroll(lines[1]));
      return attempt.Vectorize(vectors[1]);
    });
  }
  return false;
}

// Places that are computed from data have no neighbours in memory: vectors along the panel compute them by lanes, once
// for all iterators that they do not depend on. Whether the stage has such places; nothing is changed otherwise.
bool PackComputedPlaces(Schedule& sch, BlockRv stage, const std::vector<LoopRv>& loops) {
  const Block block = RealizeOf(sch, stage).block;
  const std::vector<bool> of_places = IteratorsOfPlaces(*block);
  const IterVar* panel = PanelIterator(*block);
  if (of_places.empty() || panel == nullptr) return false;
  std::vector<LoopRv> order, inside;
  std::optional<LoopRv> vector;
  for (const LoopRv& loop : loops) {
    bool places = false, along = false;
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      if (!UsesVar(RealizeOf(sch, stage).bindings[i], LoopOf(sch, loop).var)) continue;
      places |= of_places[i];
      along |= &block->iter_vars[i] == panel;
    }
    if (along) {
      vector = loop;
    } else {
      (places ? order : inside).push_back(loop);
    }
  }
  if (!vector) return false;
  order.insert(order.end(), inside.begin(), inside.end());
  order.push_back(*vector);
  return Attempt(sch, [&](Schedule& attempt) {
    return (order.size() == 1 || attempt.Reorder(order).ok()) && attempt.Vectorize(*vector).ok();
  });
}

// How many elements a stage reads, one after the other.
int64_t ReadsOf(const Schedule& sch, BlockRv stage) {
  const BlockNode& block = *RealizeOf(sch, stage).block;
  int64_t reads = std::ranges::count(AccessesOf(block), false, &Access::store);
  for (const IterVar& iter : block.iter_vars) reads *= ExtentOf(iter).value_or(1);
  return reads;
}

// The stage's loops over panels outside of all others, in parallel.
Outcome<std::monostate> PackPanelsInParallel(Schedule& sch, BlockRv stage, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, stage);
  const Block block = realize.block;
  const auto* store = dyn_cast<StoreNode>(block->body);
  if (store == nullptr) return Refusal{"pack_ahead", "{block0} is not a single store", {block->id}};
  const Buffer& buffer = block->writes[0].buffer;
  // Columns, of which a panel has so many: along the last dimension, or along the last but one where that is a group.
  const bool groups = AsInt(buffer->shape.back()).value_or(0) < target.lanes(buffer->dtype.bits());
  const size_t dim = buffer->shape.size() - (groups && buffer->shape.size() > 1 ? 2 : 1);
  const int64_t width = AsInt(buffer->shape[dim]).value_or(1);
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch.GetLoops(stage));
  const auto columns = std::ranges::find_if(loops, [&](const LoopRv& loop) {
    const auto is_along = [&](size_t i) {
      return UsesVar(realize.bindings[i], LoopOf(sch, loop).var) &&
             UsesVar(store->indices[dim], block->iter_vars[i].var);
    };
    return std::ranges::any_of(std::views::iota(size_t{0}, block->iter_vars.size()), is_along);
  });
  const int64_t extent = columns == loops.end() ? 1 : ExtentOf(sch, *columns).value_or(1);
  if (extent <= width || extent % width != 0) {
    return Refusal{"pack_ahead", "{block0} does not pack several whole panels", {block->id}};
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> panels, sch.Split(*columns, {Value(), Value(width)}));
  *columns = panels[1];
  std::vector<LoopRv> order = loops;
  order.insert(order.begin(), panels[0]);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_RETURN_IF_ERROR(PackPanel(sch, stage, loops, target));
  return sch.Parallel(panels[0]);
}

// Whether the block converts elements of floating-point types below float32, or bytes to 16 bits: vectors of them take
// few instructions, one element takes as many.
bool ConvertsNarrow(const BlockNode& block) {
  bool converts = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* op = dyn_cast<CastNode>(e);
    if (op == nullptr) return true;
    const DataType from = op->value.dtype(), to = op->dtype();
    const bool to_words = from.is_integer() && from.bits() == 8 && to.is_integer() && to.bits() == 16;
    converts |= to_words || (from.is_float() && from.bits() < 32);
    return !converts;
  });
  return converts;
}

}  // namespace

const BufferRegion& ReadOf(const BlockNode& block, const Buffer& operand) {
  return *std::ranges::find_if(block.reads, [&](const BufferRegion& read) { return read.buffer.same_as(operand); });
}

Outcome<BlockRv> ReindexRead(Schedule& sch, BlockRv block, const Buffer& buffer, Value::List kept) {
  const std::vector<BufferRegion>& reads = RealizeOf(sch, block).block->reads;
  const int64_t number = &ReadOf(*RealizeOf(sch, block).block, buffer) - reads.data();
  return sch.Reindex(block, Value::List{Value("read"), Value(number)}, std::move(kept), /*skip_simplify=*/true);
}

bool FuseCopiedDimensions(Schedule& sch, BlockRv copy, size_t inner) {
  const Buffer buffer = RealizeOf(sch, copy).block->writes[0].buffer;
  const auto extent = AsInt(buffer->shape[inner]);
  if (!extent || !FuseIterators(sch, copy, inner, *extent)) return false;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    inputs.emplace_back("i" + std::to_string(d));
    if (d == inner) {
      outputs.back() = outputs.back() * static_cast<int>(*extent) + inputs.back();
    } else {
      outputs.push_back(inputs.back());
    }
  }
  const Value::List written = {Value("write"), Value(0)};
  return sch.TransformLayout(copy, Value(written), IndexMap(std::move(inputs), std::move(outputs))).ok();
}

void InlineProducers(Schedule& sch, BlockRv stage, bool dear) {
  for (bool inlined = true; inlined;) {
    inlined = false;
    const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(stage);
    if (!producers.ok()) return;
    for (const BlockRv& producer : *producers) {
      const BlockNode& block = *RealizeOf(sch, producer).block;
      if (!dear && (IsDear(block) || CombinesElements(block) || ConvertsNarrow(block) || IsScheduled(sch, producer))) {
        continue;
      }
      if (GrowsTooLong(block, *RealizeOf(sch, stage).block, /*ahead_of_time=*/dear)) continue;
      inlined |= sch.ComputeInline(producer).ok();
    }
  }
}

bool WritesAtIterators(const BlockNode& block) {
  const std::vector<Range>& written = block.writes[0].region;
  size_t next = 0;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::kSpatial) continue;
    if (next >= written.size() || !written[next++].min.same_as(iter.var)) return false;
  }
  return next == written.size();
}

Outcome<BlockRv> StageOutput(Schedule& sch, BlockRv block, const std::string& scope) {
  if (WritesAtIterators(*RealizeOf(sch, block).block)) return sch.CacheWrite(block, 0, scope);
  TW_ASSIGN_OR_RETURN(const BlockRv copy,
                      sch.Reindex(block, Value::List{Value("write"), Value(0)}, Value::List{}, /*skip_simplify=*/true));
  TW_RETURN_IF_ERROR(sch.SetScope(block, 0, scope));
  return copy;
}

void SplitIntoPieces(Schedule& sch, BlockRv copy) {
  const Block block = RealizeOf(sch, copy).block;
  const size_t last = block->iter_vars.size() - 1;
  const int64_t extent = ExtentOf(block->iter_vars[last]).value_or(1);
  if (extent == 1 || StoresAlong(*block, last)) return;
  std::set<int64_t, std::greater<>> divisors;
  PreOrderExprs(block->body, [&](const Expr& e) {
    const auto* division = dyn_cast<BinaryNode>(e);
    if (division == nullptr || (division->op != BinaryOp::kFloorDiv && division->op != BinaryOp::kFloorMod))
      return true;
    const int64_t divisor = AsInt(division->b).value_or(1);
    if (division->a.same_as(block->iter_vars[last].var) && divisor > 1 && extent % divisor == 0)
      divisors.insert(divisor);
    return true;
  });
  for (const int64_t divisor : divisors) {
    const auto split = [&](Schedule& attempt) {
      return SplitIterator(attempt, copy, last, divisor) && StoresAlong(*RealizeOf(attempt, copy).block, last + 1);
    };
    if (Attempt(sch, split)) return;
  }
}

Outcome<std::monostate> PackPanel(Schedule& sch, BlockRv stage, const std::vector<LoopRv>& loops,
                                  const Target& target) {
  // The loop along which the operand lies in memory.
  const Block block = RealizeOf(sch, stage).block;
  const std::vector<Access> accesses = AccessesOf(*block);
  const Buffer& panels = block->writes[0].buffer;
  const auto* store = dyn_cast<StoreNode>(block->body);
  if (PackComputedPlaces(sch, stage, loops)) return std::monostate();
  const bool whole_vectors = HoldsVectors(panels, target);
  for (const LoopRv& loop : loops) {
    for (size_t i = 0; i < block->iter_vars.size(); ++i) {
      if (!UsesVar(RealizeOf(sch, stage).bindings[i], LoopOf(sch, loop).var)) continue;
      const bool along = std::ranges::all_of(accesses, [&](const Access& access) {
        return access.store || access.strides[i] == 1 || access.strides[i] == 0;
      });
      if (!along) continue;
      if (store != nullptr && whole_vectors && UsesVar(store->indices.back(), block->iter_vars[i].var)) {
        std::vector<LoopRv> order = loops;
        std::erase_if(order, [&](const LoopRv& other) { return other.index == loop.index; });
        order.push_back(loop);
        if (order.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(order));
        return sch.Vectorize(loop);
      }
      if (TransposeByTiles(sch, loops, loop, TransposeTiles(target, panels->dtype)) ||
          InterleaveGroups(sch, stage, loops, loop, target)) {
        return std::monostate();
      }
      if (TransposeByLoads(sch, stage, loops, loop, target)) return std::monostate();
      if (loop.index == loops.back().index) return sch.Vectorize(loop);
    }
  }
  return std::monostate();
}

Outcome<std::monostate> PackInLoop(Schedule& sch, BlockRv stage, LoopRv panel_loop, const Target& target) {
  const Block copied = RealizeOf(sch, stage).block;
  const auto pack_padded = [&](Schedule& attempt) { return PackPadded(attempt, stage, panel_loop, target); };
  if (IsPadded(*copied) && LiesAcross(*copied, target) && Attempt(sch, pack_padded)) return std::monostate();
  TW_RETURN_IF_ERROR(sch.ComputeAt(stage, panel_loop));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, stage, panel_loop));
  return PackPanel(sch, stage, loops, target);
}

bool ReadsConstants(const Schedule& sch, BlockRv stage) {
  return std::ranges::all_of(RealizeOf(sch, stage).block->reads, [&](const BufferRegion& read) {
    return IsConstantParam(FunctionOf(sch, stage), read.buffer);
  });
}

bool CopiesAlong(const BlockNode& stage, size_t dim) {
  const auto* store = dyn_cast<StoreNode>(stage.body);
  if (store == nullptr || !isa<LoadNode>(store->value)) return false;
  for (size_t i = 0; i < stage.iter_vars.size(); ++i) {
    if (!store->indices[dim].same_as(stage.iter_vars[i].var)) continue;
    return std::ranges::all_of(AccessesOf(stage),
                               [&](const Access& access) { return access.store || access.strides[i] == 1; });
  }
  return false;
}

Outcome<std::monostate> SplitInnermost(Schedule& sch, BlockRv block, int group) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
  if (ExtentOf(sch, loops.back()) == group) return std::monostate();
  TW_RETURN_IF_ERROR(sch.Split(loops.back(), {Value(), group}));
  return std::monostate();
}

Outcome<std::monostate> PackRows(Schedule& sch, BlockRv stage, const LoopRv* loop, int width, const Target& target) {
  if (loop != nullptr) TW_RETURN_IF_ERROR(sch.ComputeAt(stage, *loop));
  TW_RETURN_IF_ERROR(SplitInnermost(sch, stage, width));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch.GetLoops(stage));
  TW_RETURN_IF_ERROR(sch.Vectorize(loops.back()));
  if (loop != nullptr) return std::monostate();
  loops.pop_back();
  return RunInParallel(sch, loops, target.cores);
}

Outcome<std::monostate> PackAhead(Schedule& sch, BlockRv stage, const Target& target, int64_t many_reads) {
  const auto in_parallel = [&](Schedule& attempt) {
    return PackPanelsInParallel(attempt, stage, target).ok() && attempt.HoistPrepack(stage).ok();
  };
  if (ReadsOf(sch, stage) >= many_reads && Attempt(sch, in_parallel)) return std::monostate();
  return sch.HoistPrepack(stage);
}

}  // namespace tilewright
