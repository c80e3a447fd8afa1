#include "graph/fusion/sink_dequantization.h"

#include <algorithm>
#include <unordered_set>

#include "autoschedule/program/contraction.h"
#include "base/status_macros.h"
#include "graph/fusion/program_form.h"
#include "graph/fusion/quantized_calls.h"
#include "graph/ir/functor.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

bool Multiplies(const PrimFunc& program) {
  bool found = false;
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    found |= realize != nullptr && realize->block->init && MatchContraction(*realize).ok();
    return !found;
  });
  return found;
}

class Sinker : public Mutator {
 public:
  using Mutator::Mutator;

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    const auto* call = dyn_cast<CallTirNode>(binding.value);
    if (call == nullptr) return Mutator::MutateBinding(binding);
    calls_.Note(builder().module(), binding);
    const PrimFunc program = builder().module().FindProgram(call->function);
    const auto widens = [&](const CallTirNode& maker) { return Widens(maker); };
    const bool reads = std::any_of(call->args.begin(), call->args.end(), [&](const Value& arg) {
      const auto* var = dyn_cast<VarNode>(arg);
      return var != nullptr && wide_.contains(var);
    });
    if (Widens(*call)) wide_.insert(binding.var.get());
    if (!reads || !isa<TensorTypeNode>(call->out) || !IsRegular(program) || Multiplies(program)) {
      return Mutator::MutateBinding(binding);
    }
    const std::optional<ComposedCall> composed = calls_.Compose(builder().module(), binding, 1, widens);
    if (!composed) return Mutator::MutateBinding(binding);
    std::vector<Value> args;
    for (const Var& param : composed->params) args.push_back(Replaced(param));
    args.insert(args.end(), composed->composed.constants.begin(), composed->composed.constants.end());
    const std::string name = builder().AddProgram(composed->composed.program, call->function);
    TW_ASSIGN_OR_RETURN(
        const Var result,
        builder().Emit(CallTir(name, std::move(args), call->out, composed->composed.symbols), binding.var->name));
    Replace(binding.var, result);
    return absl::OkStatus();
  }

 private:
  // Whether a call makes wider elements of a variable of the same rank; of constants they are made ahead of time.
  static bool Widens(const CallTirNode& call) {
    const auto* out = dyn_cast<TensorTypeNode>(call.out);
    if (out == nullptr || !out->dtype.is_float()) return false;
    return std::any_of(call.args.begin(), call.args.end(), [&](const Value& arg) {
      const TensorTypeNode* in = isa<VarNode>(arg) ? TensorTypeOf(arg) : nullptr;
      return in != nullptr && in->dtype.bits() == 8 && in->dtype.is_integer() && in->rank() == out->rank() &&
             in->rank() > 0;
    });
  }

  Dequantizations calls_;
  std::unordered_set<const VarNode*> wide_;
};

}  // namespace

absl::StatusOr<GraphModule> SinkDequantization(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(Sinker(&builder).MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
