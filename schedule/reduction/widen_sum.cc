#include "schedule/reduction/widen_sum.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/movement/cache_write.h"
#include "schedule/program/change_storage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reducer.h"
#include "schedule/reduction/wide_value.h"

namespace tilewright {
namespace {

constexpr const char* kName = "widen_sum";

// Which component accumulates into the buffer; nothing when one of the others is decided by it or decides it.
std::optional<size_t> ComponentOf(const Reducer& reducer, const Buffer& buffer) {
  std::optional<size_t> found;
  for (size_t i = 0; i < reducer.components.size(); ++i) {
    if (reducer.components[i].accumulator.buffer.same_as(buffer)) found = i;
  }
  if (!found || !isa<BinaryNode>(reducer.components[*found].combined)) return std::nullopt;
  const Reducer::Component& own = reducer.components[*found];
  for (const Reducer::Component& other : reducer.components) {
    if (&other != &own && (UsesVar(other.combined, own.old) || UsesVar(other.combined, own.fresh))) return std::nullopt;
  }
  return found;
}

// The component with its accumulator, and all that is computed for it, in the wider type.
Reducer::Component Widened(const Reducer::Component& component, const Buffer& wide) {
  const DataType type = wide->dtype;
  const auto* combined = cast<BinaryNode>(component.combined);
  Reducer::Component widened = component;
  widened.accumulator.buffer = wide;
  widened.value = WideValue(component.value, type);
  widened.init = WideValue(component.init, type);
  widened.old = Var("old", type);
  widened.fresh = Var("new", type);
  widened.combined = combined->a.same_as(component.old) ? MakeBinary(combined->op, widened.old, widened.fresh)
                                                        : MakeBinary(combined->op, widened.fresh, widened.old);
  return widened;
}

// The block with that reducer in place of its own.
Block WithReducer(const BlockNode& block, const Reducer& reducer) {
  std::vector<Element> targets;
  std::vector<Expr> values, inits;
  for (const Reducer::Component& component : reducer.components) {
    targets.push_back(component.accumulator);
    values.push_back(component.value);
    inits.push_back(component.init);
  }
  BlockNode::Fields fields = block.fields();
  fields.body = CombineInto(reducer, targets, values);
  fields.init = StoreInto(targets, inits);
  return Block(std::move(fields));
}

}  // namespace

Outcome<WidenSumResult> WidenSum(const Function& function, uint32_t block_id, int write_index, std::string_view dtype) {
  TW_ASSIGN_OR_RETURN(const Buffer buffer, WrittenBuffer(kName, function, block_id, write_index));
  const DataType narrow = buffer->dtype;
  TW_ASSIGN_OR_RETURN(const DataType wide, WiderFloat(kName, block_id, buffer, dtype));
  const BlockNode& block = *FindBlock(function, block_id)->block;
  TW_ASSIGN_OR_RETURN(Reducer reducer, DetectReducer(kName, block));
  if (!ComponentOf(reducer, buffer)) {
    return Refusal{kName,
                   "{block0} does not combine a value into {text0} by itself, as a sum, product, minimum or maximum",
                   {block_id},
                   {},
                   {buffer->name}};
  }
  Outcome<CacheWriteResult> cached = CacheWrite(function, block_id, write_index, buffer->scope.text());
  if (!cached.ok()) {
    Refusal refusal = cached.refusal();
    refusal.primitive = kName;
    return refusal;
  }

  const BlockNode& narrow_sum = *FindBlock(cached->function, block_id)->block;
  const Buffer cache = narrow_sum.writes[static_cast<size_t>(write_index)].buffer;
  TW_ASSIGN_OR_RETURN(Reducer detected, DetectReducer(kName, narrow_sum));
  Reducer combining = detected;
  Outcome<Function> stored = ChangeStorage(
      kName, cached->function, block_id, cache,
      {.dtype = wide,
       .store = [&](const Expr& value) { return CastTo(wide, value); },
       .load = [&](const Expr& element, DataType wanted) { return CastTo(wanted, CastTo(narrow, element)); }});
  if (!stored.ok()) return stored.refusal();

  const BlockRealizeNode* realize = FindBlock(*stored, block_id);
  const Buffer& sum = realize->block->writes[static_cast<size_t>(write_index)].buffer;
  Reducer::Component& component = combining.components[*ComponentOf(combining, cache)];
  component = Widened(component, sum);
  const Stmt body =
      ReplaceStmt((*stored)->body, realize,
                  Realize(realize->bindings, realize->predicate, WithReducer(*realize->block, combining)));
  return WidenSumResult{stored->WithBody(body, (*stored)->next_id), cached->block};
}

}  // namespace tilewright
