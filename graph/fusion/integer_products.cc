#include "graph/fusion/integer_products.h"

#include "base/status_macros.h"
#include "graph/fusion/integer_form.h"
#include "graph/fusion/quantized_calls.h"
#include "graph/ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

// How many programs may lie between integers and a product: dequantization, a transpose, a slice.
constexpr int kMostSteps = 4;

class ProductRewriter : public Mutator {
 public:
  ProductRewriter(BlockBuilder* builder, bool floats) : Mutator(builder), floats_(floats) {}

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    const auto* call = dyn_cast<CallTirNode>(binding.value);
    if (call == nullptr || !isa<TensorTypeNode>(call->out)) return Mutator::MutateBinding(binding);
    calls_.Note(builder().module(), binding);
    TW_ASSIGN_OR_RETURN(const bool done, Rewrite(binding));
    return done ? absl::OkStatus() : Mutator::MutateBinding(binding);
  }

 private:
  absl::StatusOr<bool> Rewrite(const Binding& binding) {
    const auto any = [](const CallTirNode&) { return true; };
    const std::optional<ComposedCall> call = calls_.Compose(builder().module(), binding, floats_ ? kMostSteps : 0, any);
    if (!call) return false;
    const Composed& composed = call->composed;
    std::vector<Value> args;
    for (const Var& param : call->params) args.push_back(Replaced(param));
    args.insert(args.end(), composed.constants.begin(), composed.constants.end());
    std::vector<const ConstantNode*> constants;
    for (const Value& arg : args) constants.push_back(dyn_cast<ConstantNode>(arg));
    const std::optional<IntegerForm> form = IntegerFormOf(composed.program, constants, floats_);
    if (!form) return false;
    TW_ASSIGN_OR_RETURN(const Var result, EmitForm(*form, composed, args, binding));
    Replace(binding.var, result);
    return true;
  }

  absl::StatusOr<Var> EmitForm(const IntegerForm& form, const Composed& composed, const std::vector<Value>& all,
                               const Binding& binding) {
    std::vector<Value> args;
    for (const size_t i : form.kept) args.push_back(all[i]);
    args.insert(args.end(), form.constants.begin(), form.constants.end());
    // Scalars of the composed program stand for what it was given.
    VarMap scalars;
    size_t next = 0;
    for (const Param& param : composed.program->params) {
      if (!param.buffer) scalars[param.var] = composed.symbols[next++];
    }
    const std::string name = builder().AddProgram(form.program, form.program->name);
    const CallTirNode& old = *cast<CallTirNode>(binding.value);
    return builder().Emit(CallTir(name, std::move(args), old.out, Substitute(form.symbols, scalars)),
                          binding.var->name);
  }

  const bool floats_;
  Dequantizations calls_;
};

}  // namespace

absl::StatusOr<GraphModule> IntegerProducts(const GraphModule& module, const OpTable& ops, bool floats) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(ProductRewriter(&builder, floats).MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
