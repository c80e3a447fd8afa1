#include "graph/executor/uses.h"

namespace tilewright::graph {
namespace {

bool DefinesSymbols(const Value& value) {
  const auto* call = dyn_cast<CallNode>(value);
  return isa<MatchCastNode>(value) || (call != nullptr && call->op->data_dependent);
}

}  // namespace

bool IsNeeded(const Binding& binding, const Uses& uses) {
  return uses.contains(binding.var.get()) || DefinesSymbols(binding.value);
}

// Backwards, so that what only unneeded values read is not needed either.
void CountUses(const SeqNode& seq, Uses* uses) {
  CountUses(seq.result, uses);
  for (size_t b = seq.blocks.size(); b-- > 0;) {
    const std::vector<Binding>& bindings = seq.blocks[b].bindings;
    for (size_t i = bindings.size(); i-- > 0;) {
      if (IsNeeded(bindings[i], *uses)) CountUses(bindings[i].value, uses);
    }
  }
}

void CountUses(const Value& value, Uses* uses) {
  if (!value) return;
  const auto all = [&](const std::vector<Value>& values) {
    for (const Value& v : values) CountUses(v, uses);
  };
  if (const auto* var = dyn_cast<VarNode>(value)) ++(*uses)[var];
  if (const auto* tuple = dyn_cast<TupleNode>(value)) all(tuple->fields);
  if (const auto* get = dyn_cast<TupleGetItemNode>(value)) CountUses(get->tuple, uses);
  if (const auto* call = dyn_cast<CallNode>(value)) all(call->args);
  if (const auto* tir = dyn_cast<CallTirNode>(value)) all(tir->args);
  if (const auto* function = dyn_cast<CallFunctionNode>(value)) all(function->args);
  if (const auto* match = dyn_cast<MatchCastNode>(value)) CountUses(match->value, uses);
  if (const auto* branch = dyn_cast<IfNode>(value)) {
    CountUses(branch->condition, uses);
    CountUses(*branch->then_branch, uses);
    CountUses(*branch->else_branch, uses);
  }
}

}  // namespace tilewright::graph
