#include "autoschedule/normalize/widen_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autoschedule/normalize/inline_rule.h"
#include "autoschedule/program/block_loops.h"
#include "target/native_types.h"

namespace tilewright {
namespace {

// float8_e4m3fn has no infinity: what overflows there on the way is NaN, which minima and maxima forget, and finite in
// float32.
bool IsConverted(const Target& target, DataType type) {
  return type.is_float() && type.code() != TypeCode::kE4M3 && !HasArithmeticOf(target, type.ToString());
}

bool UsesConverted(const Function& function, const Target& target) {
  for (const Param& param : function->params) {
    if (param.buffer && IsConverted(target, param.buffer->dtype)) return true;
  }
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  return root != nullptr && std::ranges::any_of(root->block->alloc_buffers, [&](const Buffer& buffer) {
           return IsConverted(target, buffer->dtype);
         });
}

// Whether the block accumulates into what it writes, with or without an init.
bool Accumulates(const BlockNode& block) {
  return block.init ||
         std::ranges::any_of(block.iter_vars, [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
}

// Computes what the block alone reads, each element once, in the block: its operations are not rounded there either.
void InlineOperands(Schedule& sch, BlockRv block, const Target& target) {
  const Outcome<std::vector<BlockRv>> producers = sch.GetProducers(block);
  if (!producers.ok()) return;
  for (const BlockRv& producer : *producers) {
    const BlockNode& node = *RealizeOf(sch, producer).block;
    if (node.init || node.writes.size() != 1 || IsScheduled(sch, producer)) continue;
    const Buffer& buffer = node.writes[0].buffer;
    if (!IsConverted(target, buffer->dtype) || UsesElementsAgain(*RealizeOf(sch, block).block, buffer)) continue;
    const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(producer);
    // A refusal leaves the block where it is.
    if (consumers.ok() && consumers->size() == 1) (void)sch.ComputeInline(producer).ok();
  }
}

bool WidenOutputs(Schedule& sch, BlockRv block, const Target& target) {
  Schedule attempt = sch;
  if (!RealizeOf(attempt, block).block->init && !attempt.DecomposeAccumulation(block).ok()) return false;
  InlineOperands(attempt, block, target);
  bool widened = false;
  const size_t outputs = RealizeOf(attempt, block).block->writes.size();
  for (size_t i = 0; i < outputs; ++i) {
    if (!IsConverted(target, RealizeOf(attempt, block).block->writes[i].buffer->dtype)) continue;
    // A refusal leaves the output as it is.
    widened |= attempt.WidenSum(block, static_cast<int>(i), "float32").ok();
  }
  if (widened) sch = std::move(attempt);
  return widened;
}

}  // namespace

bool WidenSums(Schedule& sch, const std::string& function, const Target& target) {
  if (!UsesConverted(sch.module().Find(function), target)) return false;
  bool widened = false;
  for (const BlockRv& block : BlocksInRoot(sch, function)) {
    const BlockNode& node = *RealizeOf(sch, block).block;
    const bool converted = std::ranges::any_of(
        node.writes, [&](const BufferRegion& write) { return IsConverted(target, write.buffer->dtype); });
    if (converted && Accumulates(node) && !IsScheduled(sch, block)) widened |= WidenOutputs(sch, block, target);
  }
  return widened;
}

}  // namespace tilewright
