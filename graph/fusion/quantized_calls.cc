#include "graph/fusion/quantized_calls.h"

#include <set>

#include "graph/fusion/integer_form.h"

namespace tilewright::graph {

void Dequantizations::Note(const GraphModule& module, const Binding& binding) {
  const auto* call = dyn_cast<CallTirNode>(binding.value);
  if (call == nullptr || !isa<TensorTypeNode>(call->out)) return;
  if (!IsDequantization(module.FindProgram(call->function))) return;
  calls_.emplace(binding.var.get(), std::make_pair(calls_.size(), binding));
}

void Dequantizations::Collect(const CallTirNode& call, int steps, const std::function<bool(const CallTirNode&)>& wanted,
                              Found& found) const {
  if (steps == 0) return;
  for (const Value& arg : call.args) {
    const auto* var = dyn_cast<VarNode>(arg);
    const auto made = var == nullptr ? calls_.end() : calls_.find(var);
    if (made == calls_.end()) continue;
    const CallTirNode& maker = *cast<CallTirNode>(made->second.second.value);
    if (!wanted(maker)) continue;
    found.insert(made->second);
    Collect(maker, steps - 1, wanted, found);
  }
}

std::optional<ComposedCall> Dequantizations::Compose(const GraphModule& module, const Binding& binding, int steps,
                                                     const std::function<bool(const CallTirNode&)>& wanted) const {
  const CallTirNode& call = *cast<CallTirNode>(binding.value);
  Found found;
  Collect(call, steps, wanted, found);
  std::vector<Binding> bindings;
  std::set<const VarNode*> bound = {binding.var.get()};
  for (const auto& [place, made] : found) {
    bindings.push_back(made);
    bound.insert(made.var.get());
  }
  bindings.push_back(binding);
  ComposedCall result;
  for (const Binding& part : bindings) {
    for (const Value& arg : cast<CallTirNode>(part.value)->args) {
      const auto* var = dyn_cast<VarNode>(arg);
      if (var != nullptr && bound.insert(var).second) result.params.emplace_back(var);
    }
  }
  const std::vector<Var> results = {binding.var};
  std::optional<Composed> composed = ComposePrograms(module, call.function, result.params, bindings, results);
  if (!composed) return std::nullopt;
  result.composed = *std::move(composed);
  return result;
}

}  // namespace tilewright::graph
