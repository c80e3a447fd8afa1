#include "autoschedule/sketch/cpu/sketches.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/normalize/join_groups.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/row_chain.h"
#include "autoschedule/program/unpacked_constants.h"
#include "autoschedule/sketch/chained/prepared_chain.h"
#include "autoschedule/sketch/cpu/block_sums_rule.h"
#include "autoschedule/sketch/cpu/chained/chained_rule.h"
#include "autoschedule/sketch/cpu/contraction_rule.h"
#include "autoschedule/sketch/cpu/packed_rule.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "autoschedule/sketch/cpu/plain_rule.h"
#include "autoschedule/sketch/cpu/row_rule.h"
#include "autoschedule/sketch/cpu/sibling_blocks.h"
#include "autoschedule/sketch/cpu/tensor_rule.h"
#include "autoschedule/sketch/cpu/window_rule.h"
#include "autoschedule/sketch/cpu/winograd_rule.h"
#include "autoschedule/tensorize/tensor_mapping.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;
using Met = std::optional<Structure>;

bool IsContraction(const SketchContext& context) { return MatchContraction(*context.child.realize).ok(); }

// The chain of reductions along rows that the block begins.
Met MeetChain(Schedule& sch, BlockRv block, const SketchContext& context) {
  std::vector<BlockRv> chain = RowChain(sch, context.scope, context.child.id(), context.blocks);
  if (chain.empty()) return std::nullopt;
  // The whole buffer is one row. The readers of its result have other rows, or parts for threads.
  if (SpatialIterators(*context.child.realize->block).empty()) chain = {block};
  if (chain.size() == 1 && IsShorterThanLanes(*context.child.realize->block)) return std::nullopt;
  const Target* target = &context.target;
  Structure structure{Fit::kBest,
                      [=](Schedule& s, Choices& choices) { return ScheduleRows(s, chain, *target, choices); }};
  // Only the first block, if the others cannot join its loop over rows, such as the new state of a step that a product
  // reads.
  if (chain.size() > 1) {
    structure.otherwise = [=](Schedule& s, Choices& choices) { return ScheduleRows(s, {block}, *target, choices); };
  }
  return structure;
}

// Whether vectors run along the results once an operand is transposed, so that no vector has to be reduced.
bool NeedsTurnedOperand(const Schedule& sch, BlockRv block, const SketchContext& context) {
  const Outcome<PlainPlan> plan = MakePlainPlan(sch, block, context.target);
  return plan.ok() && ReadsAcross(*plan);
}

Met MeetRows(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (IsContraction(context)) return std::nullopt;
  Met chain = MeetChain(sch, block, context);
  if (chain && NeedsTurnedOperand(sch, block, context)) chain->fit = Fit::kPossible;
  return chain;
}

// Whether the stage copies columns that are contiguous along K, so that packing transposes them.
bool LiesAlongDepth(const BlockNode& stage, size_t column_dim) {
  const auto* store = dyn_cast<StoreNode>(stage.body);
  if (store == nullptr) return false;
  const auto* column = dyn_cast<VarNode>(store->indices[column_dim]);
  bool across = false, along = false;
  for (const Access& access : AccessesOf(stage)) {
    if (access.store || access.indices.empty() || column == nullptr) continue;
    const bool uses = UsesVar(access.indices.back(), Var(column));
    along |= uses;
    across |= !uses && std::ranges::any_of(access.indices, [&](const Expr& e) { return UsesVar(e, Var(column)); });
  }
  return across && !along;
}

// Whether one row is multiplied by columns whose packing does not pay: they would be packed for this row only, or are
// larger packed than the constants they are computed from. Each element is used once, in place.
bool IsVectorByRows(const Schedule& sch, BlockRv block, const SketchContext& context) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(*context.child.realize);
  const BlockNode& node = *context.child.realize->block;
  const auto is_one = [&](int row) { return ExtentOf(node.iter_vars[static_cast<size_t>(row)]) == 1; };
  if (!contraction.ok() || !std::ranges::all_of(contraction->rows, is_one)) return false;
  Schedule packed = sch;
  const Outcome<BlockRv> stage = ReindexRead(packed, block, contraction->column_operand);
  if (!stage.ok()) return false;
  InlineProducers(packed, *stage, true);
  const BlockNode& copy = *RealizeOf(packed, *stage).block;
  int64_t read_bytes = 0;
  bool constant = true;
  for (const BufferRegion& read : copy.reads) {
    read_bytes += BytesOf(read.buffer);
    constant &= IsConstantParam(FunctionOf(packed, *stage), read.buffer);
  }
  if (constant && read_bytes >= BytesOf(copy.writes[0].buffer)) return false;
  const std::vector<int> dims = StageDims({&contraction->batch, &contraction->columns, &contraction->inner});
  const auto column = std::ranges::find(dims, contraction->columns.back());
  return LiesAlongDepth(copy, static_cast<size_t>(column - dims.begin()));
}

// A contraction may be one along rows: a matrix by a vector.
Met MeetProductRows(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (!IsContraction(context)) return std::nullopt;
  if (!IsVectorByRows(sch, block, context)) {
    if (IsShorterThanLanes(*context.child.realize->block)) return std::nullopt;
    Met chain = MeetChain(sch, block, context);
    if (chain) chain->fit = Fit::kGeneral;
    return chain;
  }
  std::vector<BlockRv> chain = RowChain(sch, context.scope, context.child.id(), context.blocks);
  if (chain.empty()) return std::nullopt;
  const Target* target = &context.target;
  const Buffer columns = MatchContraction(*context.child.realize)->column_operand;
  const auto rows = [=](Schedule& s, Choices& choices, std::vector<BlockRv> left) {
    // Each element is computed once, where it is used.
    if (const std::optional<BlockRv> writer = WriterOf(s, block, columns)) {
      InlineProducers(s, *writer, true);
      (void)s.ComputeInline(*writer);
    }
    std::erase_if(left, [&](BlockRv b) { return !Exists(s, b); });
    return ScheduleRows(s, left, *target, choices);
  };
  return Structure{Fit::kBest, [=](Schedule& s, Choices& choices) { return rows(s, choices, chain); },
                   [=](Schedule& s, Choices& choices) { return rows(s, choices, {block}); }};
}

// With the intrinsics that the registry names one by one, a user's for example. Families have sketches of their own.
Met MeetTensor(Schedule&, BlockRv block, const SketchContext& context) {
  if (context.intrins == nullptr) return std::nullopt;
  const Target* target = &context.target;
  std::vector<TensorMapping> all;
  for (const std::string& name : context.intrins->names()) {
    const TensorIntrin& intrin = *context.intrins->Find(name);
    if (!std::ranges::all_of(intrin.features, [&](const std::string& f) { return target->has(f); })) continue;
    TensorMappings mappings = FindTensorMappings(*context.child.realize->block, intrin);
    all.insert(all.end(), mappings.found.begin(), mappings.found.end());
  }
  if (all.empty()) return std::nullopt;
  std::ranges::sort(all, LessWaste);
  return Structure{Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return ScheduleTensorized(s, block, all, *target, choices); }};
}

Met MeetJoinedGroups(Schedule& sch, BlockRv block, const SketchContext& context) {
  const Target* target = &context.target;
  Schedule joined = sch;
  if (!IsContraction(context) || !JoinGroups(joined, block, *target).ok()) return std::nullopt;
  return Structure{Fit::kBest, [=](Schedule& s, Choices& choices) -> Outcome<Done> {
                     Outcome<Done> done = JoinGroups(s, block, *target);
                     return done.ok() ? SchedulePlain(s, block, *target, choices) : done;
                   }};
}

Met MeetWinograd(Schedule& sch, BlockRv block, const SketchContext& context) {
  const Target* target = &context.target;
  const WinogradWays found = WaysByWinograd(sch, block, *target);
  if (found.ways.empty()) return std::nullopt;
  return Structure{PaysByWinograd(found) ? Fit::kBest : Fit::kPossible, [=](Schedule& s, Choices& choices) {
                     return ScheduleWinograd(s, block, found.ways, *target, choices);
                   }};
}

// By packed constants, few rows of which are all in registers.
Met MeetPacked(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (!IsContraction(context) || !IsPackedProduct(sch, block, context.target)) return std::nullopt;
  const Target* target = &context.target;
  return Structure{Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return SchedulePackedProduct(s, block, *target, choices); }};
}

// Sums of blocks of the depth, scaled and added up by another block.
Met MeetBlockSums(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (!IsContraction(context) || !IsSumOfBlocks(sch, block, context.target)) return std::nullopt;
  const Target* target = &context.target;
  return Structure{Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return ScheduleSumsOfBlocks(s, block, *target, choices); }};
}

Met MeetContraction(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (!IsContraction(context)) return std::nullopt;
  const Target* target = &context.target;
  const bool by_rows = IsVectorByRows(sch, block, context) && MeetChain(sch, block, context);
  return Structure{by_rows ? Fit::kPossible : Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return ScheduleContraction(s, block, *target, choices); }};
}

// A product whose rows are reduced, with the blocks that follow.
Met MeetChained(Schedule& sch, BlockRv block, const SketchContext& context) {
  const std::optional<PreparedChain> chain = PrepareChain(sch, block, context, LimitsOfChains(context.target));
  if (!chain) return std::nullopt;
  Schedule prepared = sch;
  chain->prepare(prepared);
  if (!HasTiles(prepared, chain->plan, context.target)) return std::nullopt;
  const Target* target = &context.target;
  Structure structure{Fit::kBest, [chain = *chain, target](Schedule& s, Choices& choices) {
                        chain.prepare(s);
                        return ScheduleChained(s, chain.plan, *target, choices);
                      }};
  // The second product reads what is stored anyway, scores are kept longer for another one, or tiles of few rows have
  // one.
  const ChainedPlan& plan = chain->plan;
  const BlockNode& product = *context.child.realize->block;
  const bool one_row = plan.has_few_rows() && std::ranges::any_of(product.iter_vars, [](const IterVar& iter) {
                         return iter.kind == IterKind::kSpatial && !ExtentOf(iter);
                       });
  structure.judged = plan.seconds.size() > 1 || (!plan.seconds.empty() && plan.gives_scores) || one_row;
  return structure;
}

// What unpacks constants of which each is used once is computed where it is used.
void InlineUnpacker(Schedule& sch, BlockRv block) {
  const absl::StatusOr<Contraction> product = MatchContraction(RealizeOf(sch, block));
  if (!product.ok()) return;
  const std::optional<BlockRv> unpacker = UnpackerOf(sch, block, *product);
  if (unpacker && !UsesElementsAgain(*RealizeOf(sch, block).block, product->column_operand)) {
    (void)sch.ComputeInline(*unpacker);
  }
}

Met MeetPlain(Schedule& sch, BlockRv block, const SketchContext& context) {
  if (context.SharesLoops()) return std::nullopt;
  const bool turned = !IsContraction(context) && NeedsTurnedOperand(sch, block, context);
  const Target* target = &context.target;
  const std::vector<BlockRv> blocks(context.blocks.begin(), context.blocks.end());
  const auto apply = [=](Schedule& s, Choices& choices) -> Outcome<Done> {
    InlineUnpacker(s, block);
    TW_RETURN_IF_ERROR(MergeSiblings(s, block, blocks, *target, choices));
    return SchedulePlain(s, block, *target, choices);
  };
  return Structure{turned ? Fit::kBest : Fit::kGeneral, apply};
}

Met MeetGivenLoops(Schedule&, BlockRv block, const SketchContext& context) {
  const Target* target = &context.target;
  return Structure{Fit::kOtherwise, [=](Schedule& s, Choices&) -> Outcome<Done> {
                     KeepLoops(s, block, *target);
                     return Done();
                   }};
}

constexpr Sketch kSketches[] = {
    {"chained", MeetChained, false, true},
    {"rows", MeetRows, false, true},
    {"tensor", MeetTensor, true},
    {"joined_groups", MeetJoinedGroups},
    {"winograd", MeetWinograd},
    {"packed", MeetPacked},
    {"block_sums", MeetBlockSums, true},
    {"contraction", MeetContraction, true},
    {"product_rows", MeetProductRows},
    {"plain", MeetPlain},
    {"given_loops", MeetGivenLoops},
};

}  // namespace

SketchList CpuSketches() { return {kSketches, SplitAmongCores}; }

}  // namespace tilewright
