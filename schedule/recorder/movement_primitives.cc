#include "base/status_macros.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/layout/pad_einsum.h"
#include "schedule/layout/pad_einsum_in_place.h"
#include "schedule/layout/set_scope.h"
#include "schedule/movement/cache_read.h"
#include "schedule/movement/cache_write.h"
#include "schedule/movement/compute_at.h"
#include "schedule/movement/compute_inline.h"
#include "schedule/movement/reverse_compute_inline.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

// Argument 1 as a number among the regions of the block that argument 0 is: a number, or the name of a buffer.
Outcome<int> RegionNumber(const char* primitive, const Application& call,
                          const std::vector<BufferRegion> BlockNode::* regions) {
  if (const auto* index = call.arg(1).As<int64_t>()) return static_cast<int>(*index);
  if (const auto* pair = call.arg(1).As<Value::List>()) return static_cast<int>(*(*pair)[1].As<int64_t>());
  const Path path = FindPath(call.function(), call.Id(0));
  if (path.empty()) return 0;  // which the primitive refuses
  const std::string& name = *call.arg(1).As<std::string>();
  const std::vector<BufferRegion>& candidates = cast<BlockRealizeNode>(path.back())->block.get()->*regions;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (IsCalled(candidates[i].buffer, name)) return static_cast<int>(i);
  }
  return Refusal{
      primitive,
      regions == &BlockNode::reads ? "{block0} reads no buffer {text0}" : "{block0} writes no buffer {text0}",
      {call.Id(0)},
      {},
      {name}};
}

using ComputeAtFunction = Outcome<ComputeAtResult> (*)(const Function&, uint32_t, uint32_t, bool, int);

// The loop may be what sample_compute_location gives in place of one.
template <class InlineFunction>
Outcome<Applied> Move(Application& call, ComputeAtFunction move, InlineFunction inline_block) {
  const uint32_t loop = call.Id(1);
  if (loop == kComputeRoot) return call.Changed(call.function());
  if (loop == kComputeInline) return Changed(call, inline_block(call.function(), call.Id(0)));
  return Changed(call, move(call.function(), call.Id(0), loop, call.Bool(2), IntArg(call, 3)));
}

const std::vector<ArgSpec> kComputeAtArgs = {{"block", ArgKind::kBlock},
                                             {"loop", ArgKind::kLoop},
                                             {"preserve_unit_loops", ArgKind::kBool, false},
                                             {"index", ArgKind::kInt, -1}};

}  // namespace

std::vector<Primitive> MovementPrimitives() {
  using Role = Primitive::Role;
  return {
      {"cache_read",
       "What a block reads is copied into another scope first; readers read the copy.",
       {{"block", ArgKind::kBlock},
        {"read_buffer_index", ArgKind::kBufferIndex},
        {"storage_scope", ArgKind::kString},
        {"consumer_blocks", ArgKind::kBlocks, Value::List{}}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(const int index, RegionNumber("cache_read", call, &BlockNode::reads));
         TW_ASSIGN_OR_RETURN(CacheReadResult result,
                             CacheRead(call.function(), call.Id(0), index, call.String(2), call.Ids(3)));
         return call.WithBlock(result.function, result.block);
       }},
      {"cache_write",
       "A block writes into another scope; a copy brings the result back.",
       {{"block", ArgKind::kBlock},
        {"write_buffer_index", ArgKind::kBufferIndex},
        {"storage_scope", ArgKind::kString},
        {"consumer_blocks", ArgKind::kBlocks, Value::List{}}},
       ResultKind::kBlock,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(const int index, RegionNumber("cache_write", call, &BlockNode::writes));
         TW_ASSIGN_OR_RETURN(CacheWriteResult result,
                             CacheWrite(call.function(), call.Id(0), index, call.String(2), call.Ids(3)));
         return call.WithBlock(result.function, result.block);
       }},
      {"set_scope",
       "A buffer that a block writes moves to another scope.",
       {{"block", ArgKind::kBlock}, {"buffer_index", ArgKind::kBufferIndex}, {"storage_scope", ArgKind::kString}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(const int index, RegionNumber("set_scope", call, &BlockNode::writes));
         TW_ASSIGN_OR_RETURN(SetScopeResult result, SetScope(call.function(), call.Id(0), index, call.String(2)));
         return call.Changed(result.function);
       }},
      {"compute_at", "A producer moves into a loop around its consumers and computes what they need there.",
       kComputeAtArgs, ResultKind::kNone, Role::kTransform,
       [](Application& call) { return Move(call, ComputeAt, ComputeInline); }},
      {"reverse_compute_at", "A consumer moves into a loop around its producers and uses what they give there.",
       kComputeAtArgs, ResultKind::kNone, Role::kTransform,
       [](Application& call) { return Move(call, ReverseComputeAt, ReverseComputeInline); }},
  };
}

std::vector<Primitive> PaddingPrimitives() {
  using Role = Primitive::Role;
  return {
      {"pad_einsum",
       "The iterators of a block are rounded up to multiples; it works on copies filled up with zeros.",
       {{"block", ArgKind::kBlock}, {"padding", ArgKind::kInts}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, PadEinsum(call.function(), call.Id(0), call.Ints(1))); }},
      {"pad_einsum_in_place",
       "The iterators of a contraction are rounded up to multiples; the producers of operands fill up with zeros.",
       {{"block", ArgKind::kBlock}, {"padding", ArgKind::kInts}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, PadEinsumInPlace(call.function(), call.Id(0), call.Ints(1))); }},
      {"hoist_prepack",
       "The packing of a constant operand moves into a function that runs ahead of time.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         const Function before = call.module().Find(PrepackName(*call.function().get()));
         TW_ASSIGN_OR_RETURN(HoistPrepackResult result, HoistPrepack(call.function(), call.Id(0), before));
         Applied applied = call.Changed(result.function);
         applied.module.Set(result.prepack);
         return applied;
       }},
  };
}

}  // namespace tilewright
