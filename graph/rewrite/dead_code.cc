#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "base/status_macros.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/passes.h"

namespace tilewright::graph {
namespace {

// The functions and programs that a function mentions.
class Callees : public Visitor {
 public:
  std::set<std::string> names;
  bool impure = false;  // an operator with an effect is called

 protected:
  void VisitCall(const CallNode* op) override {
    impure |= !op->op->pure;
    for (const auto& [name, value] : op->attrs) {
      if (const auto* function = value.As<FunctionName>()) names.insert(function->name);
    }
    Visitor::VisitCall(op);
  }
  void VisitCallTir(const CallTirNode* op) override {
    names.insert(op->function);
    Visitor::VisitCallTir(op);
  }
  void VisitCallFunction(const CallFunctionNode* op) override {
    names.insert(op->function);
    Visitor::VisitCallFunction(op);
  }
};

// Functions that call an operator with an effect, themselves or through others.
std::set<std::string> ImpureFunctions(const GraphModule& module) {
  std::map<std::string, Callees> callees;
  std::set<std::string> impure;
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    Callees& of = callees[entry.name()];
    of.VisitFunction(entry.function);
    if (of.impure) impure.insert(entry.name());
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, of] : callees) {
      const bool calls =
          std::any_of(of.names.begin(), of.names.end(), [&](const std::string& c) { return impure.contains(c); });
      if (calls) changed |= impure.insert(name).second;
    }
  }
  return impure;
}

// Which variables are needed, found from the last binding to the first.
class Liveness {
 public:
  explicit Liveness(const std::set<std::string>* impure) : impure_(*impure) {}

  void VisitFunction(const FunctionNode& function) { VisitSeq(*function.body, /*needed=*/true); }
  bool IsLive(const Var& var) const { return live_.contains(var.get()); }

 private:
  void VisitSeq(const SeqNode& seq, bool needed) {
    if (needed) Use(seq.result);
    for (const Expr& guard : seq.guards) UseSymbols(FreeSymbols(std::vector<Expr>{guard}));
    for (auto block = seq.blocks.rbegin(); block != seq.blocks.rend(); ++block) {
      for (auto binding = block->bindings.rbegin(); binding != block->bindings.rend(); ++binding)
        VisitBinding(*binding);
    }
  }

  void VisitBinding(const Binding& binding) {
    const bool defines = DefinesSymbols(binding.value) || isa<MatchCastNode>(binding.value);
    const std::vector<Symbol> symbols = FreeSymbols(binding.var->type);
    const bool symbol_needed = defines && std::any_of(symbols.begin(), symbols.end(),
                                                      [&](const Symbol& s) { return symbols_.contains(s.get()); });
    // match_cast checks its value, which is an effect.
    const bool has_effect = HasEffect(binding.value) || isa<MatchCastNode>(binding.value);
    if (!has_effect && !symbol_needed && !live_.contains(binding.var.get())) return;
    live_.insert(binding.var.get());
    UseSymbols(symbols);
    Use(binding.value);
    if (const auto* branch = dyn_cast<IfNode>(binding.value)) {
      VisitSeq(*branch->then_branch, /*needed=*/true);
      VisitSeq(*branch->else_branch, /*needed=*/true);
    }
  }

  bool HasEffect(const Value& value) const {
    if (const auto* call = dyn_cast<CallNode>(value)) return !call->op->pure;
    if (const auto* call = dyn_cast<CallFunctionNode>(value)) return impure_.contains(call->function);
    if (!isa<IfNode>(value)) return false;
    Callees inside;
    inside.Visit(value);
    return inside.impure || std::any_of(inside.names.begin(), inside.names.end(),
                                        [&](const std::string& name) { return impure_.contains(name); });
  }

  // Notes what the value reads, but for what is inside of branches.
  void Use(const Value& value) {
    class Reads : public Visitor {
     public:
      explicit Reads(Liveness* of) : of_(*of) {}

     protected:
      void VisitVar(const VarNode* var) override { of_.live_.insert(var); }
      void VisitShape(const ShapeExprNode* shape) override { of_.UseSymbols(FreeSymbols(shape->values)); }
      void VisitCallTir(const CallTirNode* op) override {
        of_.UseSymbols(FreeSymbols(op->out));
        of_.UseSymbols(FreeSymbols(op->symbols));
        Visitor::VisitCallTir(op);
      }
      void VisitIf(const IfNode* op) override { Visit(op->condition); }

     private:
      Liveness& of_;
    };
    Reads(this).Visit(value);
  }
  void UseSymbols(const std::vector<Symbol>& symbols) {
    for (const Symbol& symbol : symbols) symbols_.insert(symbol.get());
  }

  const std::set<std::string>& impure_;
  std::unordered_set<const VarNode*> live_;
  std::unordered_set<const SymbolNode*> symbols_;
};

using KeptParams = std::map<std::string, std::vector<bool>>;

class DeadCodeRemover : public Mutator {
 public:
  DeadCodeRemover(BlockBuilder* builder, const KeptParams* kept) : Mutator(builder), kept_(*kept) {}

  absl::StatusOr<Function> Run(const Function& function, const Liveness& liveness) {
    liveness_ = &liveness;
    return MutateFunction(function);
  }

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    return liveness_->IsLive(binding.var) ? Mutator::MutateBinding(binding) : absl::OkStatus();
  }
  // The builder finds the outputs that are used.
  bool KeepsOutput(const Var&) override { return false; }
  absl::StatusOr<Value> MutateCallFunction(const CallFunctionNode* call, const Value& self) override {
    const auto kept = kept_.find(call->function);
    if (kept == kept_.end()) return self;
    std::vector<Value> args;
    for (size_t i = 0; i < call->args.size(); ++i) {
      if (kept->second[i]) args.push_back(call->args[i]);
    }
    return Value(CallFunction(call->function, std::move(args)));
  }

 private:
  const KeptParams& kept_;
  const Liveness* liveness_ = nullptr;
};

// A parameter is kept if it is read, or if it is the only one that defines a symbol.
std::vector<bool> ParamsToKeep(const Function& function, const Liveness& liveness) {
  std::vector<bool> keep;
  std::unordered_set<const SymbolNode*> defined;
  const auto define = [&](const Var& param) {
    bool is_new = false;
    for (const Symbol& symbol : FreeSymbols(param->type)) is_new |= defined.insert(symbol.get()).second;
    return is_new;
  };
  for (const Var& param : function->params) {
    if (liveness.IsLive(param)) define(param);
  }
  for (const Var& param : function->params) keep.push_back(liveness.IsLive(param) || define(param));
  return keep;
}

void RemoveUnreachable(BlockBuilder& builder) {
  std::vector<std::string> pending;
  std::set<std::string> reached;
  for (const ModuleEntry& entry : builder.module().entries()) {
    if (entry.function && !entry.function->is_private) pending.push_back(entry.name());
  }
  if (pending.empty()) return;  // nothing says what is wanted
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    if (!reached.insert(name).second) continue;
    const Function function = builder.module().FindFunction(name);
    if (!function) continue;
    Callees callees;
    callees.VisitFunction(function);
    pending.insert(pending.end(), callees.names.begin(), callees.names.end());
  }
  std::vector<std::string> unreached;
  for (const ModuleEntry& entry : builder.module().entries()) {
    if (!reached.contains(entry.name())) unreached.push_back(entry.name());
  }
  for (const std::string& name : unreached) builder.Remove(name);
}

// Private functions that are only called, so that their parameters may change.
std::set<std::string> FunctionsOnlyCalled(const GraphModule& module) {
  class Named : public Visitor {
   public:
    std::set<std::string> names;

   protected:
    void VisitCall(const CallNode* op) override {
      for (const auto& [name, value] : op->attrs) {
        if (const auto* function = value.As<FunctionName>()) names.insert(function->name);
      }
    }
  };
  Named named;
  std::set<std::string> functions;
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    named.VisitFunction(entry.function);
    if (entry.function->is_private) functions.insert(entry.name());
  }
  for (const std::string& name : named.names) functions.erase(name);
  return functions;
}

size_t CountBindings(const GraphModule& module) {
  class Counter : public Visitor {
   public:
    size_t count = 0;

   protected:
    void VisitVarDefinition(const Var&) override { ++count; }
  };
  Counter counter;
  for (const ModuleEntry& entry : module.entries()) {
    ++counter.count;
    if (entry.function) counter.VisitFunction(entry.function);
  }
  return counter.count;
}

absl::StatusOr<GraphModule> RemoveOnce(const GraphModule& module, const OpTable& ops) {
  const std::set<std::string> impure = ImpureFunctions(module), only_called = FunctionsOnlyCalled(module);
  BlockBuilder builder(&ops, module);
  std::map<std::string, Liveness> liveness;
  KeptParams kept;
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    Liveness& live = liveness.try_emplace(entry.name(), &impure).first->second;
    live.VisitFunction(*entry.function);
    if (!only_called.contains(entry.name())) continue;
    const std::vector<bool> keep = ParamsToKeep(entry.function, live);
    if (std::all_of(keep.begin(), keep.end(), [](bool k) { return k; })) continue;
    FunctionNode::Fields fields = entry.function->fields();
    std::vector<Var> params;
    for (size_t i = 0; i < keep.size(); ++i) {
      if (keep[i]) params.push_back(fields.params[i]);
    }
    fields.params = std::move(params);
    builder.SetFunction(Function(std::move(fields)));
    kept[entry.name()] = keep;
  }
  DeadCodeRemover remover(&builder, &kept);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    const Function function = builder.module().FindFunction(entry.name());
    TW_RETURN_IF_ERROR(remover.Run(function, liveness.at(entry.name())).status());
  }
  RemoveUnreachable(builder);
  return builder.module();
}

}  // namespace

absl::StatusOr<GraphModule> EliminateDeadCode(const GraphModule& module, const OpTable& ops) {
  GraphModule result = module;
  // A parameter that is gone may leave its argument without a use.
  for (size_t before = CountBindings(module);;) {
    TW_ASSIGN_OR_RETURN(result, RemoveOnce(result, ops));
    const size_t after = CountBindings(result);
    if (after == before) return result;
    before = after;
  }
}

}  // namespace tilewright::graph
