#include "base/status_macros.h"
#include "schedule/algebra/cache_factors.h"
#include "schedule/algebra/gather_sums.h"
#include "schedule/algebra/join_windows.h"
#include "schedule/algebra/skip_zero_terms.h"
#include "schedule/algebra/split_offset.h"
#include "schedule/algebra/winograd.h"
#include "schedule/blocks/fuse_with_gaps.h"
#include "schedule/blocks/transform_block_layout.h"
#include "schedule/layout/reindex.h"
#include "schedule/layout/transform_layout.h"
#include "schedule/movement/compute_inline.h"
#include "schedule/movement/reverse_compute_inline.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/common_refusals.h"
#include "schedule/recorder/primitive_lists.h"
#include "schedule/reduction/decompose_accumulation.h"

namespace tilewright {
namespace {

// An integer counts read regions.
BufferSelector ToSelector(const Value& value) {
  if (const auto* name = value.As<std::string>()) return BufferSelector::Named(*name);
  if (const auto* index = value.As<int64_t>()) return BufferSelector::Read(static_cast<int>(*index));
  const Value::List& pair = *value.As<Value::List>();
  const int index = static_cast<int>(*pair[1].As<int64_t>());
  return *pair[0].As<std::string>() == "read" ? BufferSelector::Read(index) : BufferSelector::Write(index);
}

// A map with the number, which has no type of its own, as its result in the buffer's type; null for None.
IndexMap ToPadValue(const Value& value, size_t rank, DataType type) {
  if (const auto* map = value.As<IndexMap>()) return *map;
  Expr constant;
  if (const auto* integer = value.As<int64_t>()) constant = CastTo(type, Expr(*integer));
  if (const auto* real = value.As<double>()) constant = ConstFloat(type.is_float() ? type : DataType::Float(64), *real);
  if (!constant) return IndexMap();
  std::vector<Var> inputs;
  for (size_t i = 0; i < rank; ++i) inputs.push_back(Var("i" + std::to_string(i)));
  return IndexMap(std::move(inputs), {constant});
}

Outcome<Applied> ApplyWinograd(Application& call) {
  TW_ASSIGN_OR_RETURN(WinogradResult result,
                      Winograd(call.function(), call.Id(0), call.Int(1), call.Int(2), call.Int(3)));
  return call.WithBlocks(result.function, {result.tiles, result.input, result.kernel, result.output});
}

}  // namespace

std::vector<Primitive> LayoutPrimitives() {
  using Role = Primitive::Role;
  return {
      {"transform_layout",
       "A buffer is stored in another layout, everywhere.",
       {{"block", ArgKind::kBlock},
        {"buffer", ArgKind::kBufferIndex},
        {"index_map", ArgKind::kIndexMap},
        {"pad_value", ArgKind::kPadValue, Value()},
        // The flag says that padding without a pad_value stays unwritten. A map is never assumed to be injective.
        {"assume_injective_transform", ArgKind::kBool, false}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         const IndexMap& map = *call.arg(2).As<IndexMap>();
         const BufferSelector selector = ToSelector(call.arg(1));
         TW_ASSIGN_OR_RETURN(Path path, PathToBlock("transform_layout", call.function(), call.Id(0)));
         const BlockNode& block = *cast<BlockRealizeNode>(path.back())->block;
         TW_ASSIGN_OR_RETURN(SelectedRegion selected, SelectRegion("transform_layout", block, selector));
         const IndexMap pad_value = ToPadValue(call.arg(3), map->outputs.size(), selected.region.buffer->dtype);
         const Padding padding = call.Bool(4) ? Padding::kUnwritten : Padding::kRefused;
         TW_ASSIGN_OR_RETURN(TransformLayoutResult result,
                             TransformLayout(call.function(), call.Id(0), selector, map, pad_value, padding));
         return call.Changed(result.function);
       }},
      {"transform_block_layout",
       "A block gets other iterators, and loops over them.",
       {{"block", ArgKind::kBlock}, {"index_map", ArgKind::kIndexMap}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, TransformBlockLayout(call.function(), call.Id(0), *call.arg(1).As<IndexMap>()));
       }},
  };
}

std::vector<Primitive> SumPrimitives() {
  using Role = Primitive::Role;
  return {
      {"skip_zero_terms",
       "Terms of a sum that a condition makes zero are left out.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, SkipZeroTerms(call.function(), call.Id(0))); }},
      {"join_windows",
       "A factor of a sum is read in a window that holds those of all values of an iterator.",
       {{"block", ArgKind::kBlock}, {"iterator", ArgKind::kInt}, {"reduction", ArgKind::kInt}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call, JoinWindows(call.function(), call.Id(0), call.Int(1), call.Int(2)));
       }},
      {"gather_sums",
       "What a sum over a window adds at a place is summed once for each place, and gathered.",
       {{"block", ArgKind::kBlock}, {"window", ArgKind::kInts}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(GatherSumsResult result, GatherSums(call.function(), call.Id(0), call.Ints(1)));
         return call.WithBlock(result.function, result.block);
       }},
      {"fuse_with_gaps",
       "One iterator for two, with values between the rows of the inner one.",
       {{"block", ArgKind::kBlock},
        {"outer", ArgKind::kInt},
        {"inner", ArgKind::kInt},
        {"pitch", ArgKind::kInt},
        {"run_in_gaps", ArgKind::kBool, false}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) {
         return Changed(call,
                        FuseWithGaps(call.function(), call.Id(0), call.Int(1), call.Int(2), call.Int(3), call.Bool(4)));
       }},
      {"winograd",
       "A sum over a window becomes fewer products of transformed operands (Winograd, Toom and Cook).",
       {{"block", ArgKind::kBlock},
        {"iterator", ArgKind::kInt},
        {"reduction", ArgKind::kInt},
        {"outputs", ArgKind::kInt}},
       ResultKind::kBlocks,
       Role::kTransform,
       ApplyWinograd},
      {"cache_factors",
       "Some of the factors of a sum's terms are multiplied ahead, into a buffer.",
       {{"block", ArgKind::kBlock}, {"factors", ArgKind::kInts}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, CacheFactors(call.function(), call.Id(0), call.Ints(1))); }},
      {"decompose_accumulation",
       "What a block adds to an array that has values becomes a sum of its own, which is added at last.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, DecomposeAccumulation(call.function(), call.Id(0))); }},
      {"split_offset",
       "A number that is added to a factor of a sum's terms is multiplied with the sum of the other factors.",
       {{"block", ArgKind::kBlock}, {"factor", ArgKind::kInt}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) { return WithBlock(call, SplitOffset(call.function(), call.Id(0), call.Int(1))); }},
  };
}

std::vector<Primitive> InlinePrimitives() {
  using Role = Primitive::Role;
  return {
      {"reindex",
       "A block gets a copy of a buffer whose layout is the block's iterators; dimensions of what is read can be kept.",
       {{"block", ArgKind::kBlock},
        {"buffer", ArgKind::kBufferIndex},
        {"kept_dims", ArgKind::kInts, Value(Value::List{})},
        {"skip_simplify", ArgKind::kBool, false}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) {
         return WithBlock(call,
                          Reindex(call.function(), call.Id(0), ToSelector(call.arg(1)), call.Ints(2), call.Bool(3)));
       }},
      {"compute_inline",
       "What a block stores is computed where it is used.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, ComputeInline(call.function(), call.Id(0))); }},
      {"reverse_compute_inline",
       "A producer stores what its only consumer makes of its values.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, ReverseComputeInline(call.function(), call.Id(0))); }},
  };
}

}  // namespace tilewright
