#include "graph/rewrite/legalize.h"

#include "base/status_macros.h"
#include "graph/ir/functor.h"

namespace tilewright::graph {
namespace {

class Legalizer : public Mutator {
 public:
  Legalizer(BlockBuilder* builder, const LoweringTable* lowerings) : Mutator(builder), lowerings_(*lowerings) {}

 protected:
  absl::StatusOr<Value> MutateCall(const CallNode* call, const Value& self) override {
    const Lowering* lowering = lowerings_.Find(call->op->name);
    if (lowering == nullptr) return self;
    TW_ASSIGN_OR_RETURN(const Type type, builder().Infer(self));
    // A program writes tensors of known rank only.
    if (HasUnknownRank(type)) return self;
    TW_ASSIGN_OR_RETURN(const Value lowered, (*lowering)(builder(), *call, type));
    return LegalizeNested(lowered);
  }

 private:
  static bool HasUnknownRank(const Type& type) {
    if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) return !tensor->shape;
    const auto* tuple = dyn_cast<TupleTypeNode>(type);
    if (tuple == nullptr) return false;
    for (const Type& field : tuple->fields) {
      if (HasUnknownRank(field)) return true;
    }
    return false;
  }

  // Calls of operators that a lowering gave are lowered in turn, innermost first.
  absl::StatusOr<Value> LegalizeNested(const Value& value) {
    const auto* call = dyn_cast<CallNode>(value);
    if (call == nullptr) return value;
    std::vector<Value> args;
    for (const Value& arg : call->args) {
      TW_ASSIGN_OR_RETURN(Value legal, LegalizeNested(arg));
      TW_ASSIGN_OR_RETURN(legal, builder().Atom(legal));
      args.push_back(std::move(legal));
    }
    TW_ASSIGN_OR_RETURN(Attrs attrs, CompleteAttrs(*call->op, call->attrs));
    const Call complete(call->op, std::move(args), std::move(attrs));
    return MutateCall(complete.get(), complete);
  }

  const LoweringTable& lowerings_;
};

}  // namespace

absl::StatusOr<GraphModule> LegalizeOps(const GraphModule& module, const OpTable& ops, const LoweringTable& lowerings) {
  BlockBuilder builder(&ops, module);
  Legalizer legalizer(&builder, &lowerings);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(legalizer.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
