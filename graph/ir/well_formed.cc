#include "graph/ir/well_formed.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "graph/ir/call_types.h"
#include "graph/ir/infer.h"
#include "ir/arith/analyzer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

class FunctionChecker {
 public:
  FunctionChecker(const GraphModule& module, const Function& function, std::vector<std::string>* violations)
      : module_(module), function_(function), violations_(violations) {}

  void Run() {
    for (const Var& param : function_->params) {
      Define(param);
      DefineSymbols(param->type, /*anywhere=*/true);
    }
    CheckSeq(*function_->body);
    if (!SameType(function_->result_type, TypeOfResult(*function_->body), /*compare_values=*/false)) {
      Violation("result", "has another type than the function");
    }
  }

 private:
  void Violation(const std::string& where, const std::string& reason) {
    violations_->push_back(absl::StrCat(function_->name, ": ", where, ": ", reason));
  }

  static Type TypeOfResult(const SeqNode& seq) { return IsAtom(seq.result) ? TypeOf(seq.result) : Type(); }

  void Define(const Var& var) {
    if (!defined_.insert(var.get()).second) Violation(var->name, "is bound twice");
    visible_.insert(var.get());
    if (!var->type) Violation(var->name, "does not have a type");
  }

  // Symbols that are whole extents or elements, or all of them.
  void DefineSymbols(const Type& type, bool anywhere) {
    for (const Symbol& symbol : ExtentSymbols(type)) {
      symbols_.insert(symbol.get());
      if (extents_.insert(symbol.get()).second) analyzer_.Assume(symbol >= Extent(0));
    }
    for (const TensorTypeNode* tensor : TensorsOf(type)) {
      for (size_t i = 0; tensor->values && i < tensor->values->size(); ++i) {
        if (const auto* symbol = dyn_cast<SymbolNode>((*tensor->values)[i])) symbols_.insert(symbol);
      }
    }
    if (!anywhere) return;
    for (const Symbol& symbol : FreeSymbols(type)) symbols_.insert(symbol.get());
  }

  void UseSymbols(const std::string& where, const Type& type) { UseSymbols(where, FreeSymbols(type)); }
  void UseSymbols(const std::string& where, const std::vector<Symbol>& symbols) {
    for (const Symbol& symbol : symbols) {
      if (!symbols_.contains(symbol.get())) {
        Violation(where, absl::StrCat("symbol ", symbol.name(), " is used before it is defined"));
      }
    }
  }

  void UseAtom(const std::string& where, const Value& value) {
    if (!value) return;
    if (!IsAtom(value)) return Violation(where, "an argument is not an atom");
    if (const auto* var = dyn_cast<VarNode>(value)) {
      if (!visible_.contains(var)) Violation(where, absl::StrCat(var->name, " is not visible here"));
    } else if (const auto* tuple = dyn_cast<TupleNode>(value)) {
      for (const Value& field : tuple->fields) UseAtom(where, field);
    } else if (const auto* shape = dyn_cast<ShapeExprNode>(value)) {
      UseSymbols(where, shape->type);
    }
  }
  void UseAll(const std::string& where, const std::vector<Value>& values) {
    for (const Value& value : values) UseAtom(where, value);
  }

  void CheckSeq(const SeqNode& seq) {
    const std::unordered_set<const VarNode*> outside = visible_;
    const arith::Analyzer::Scope known(&analyzer_);
    for (const Expr& guard : seq.guards) analyzer_.Assume(guard);
    guards_.insert(guards_.end(), seq.guards.begin(), seq.guards.end());
    for (const BindingBlock& block : seq.blocks) CheckBlock(block);
    UseAtom("result", seq.result);
    for (const Expr& guard : seq.guards) UseSymbols("guard", FreeSymbols(std::vector<Expr>{guard}));
    guards_.resize(guards_.size() - seq.guards.size());
    visible_ = outside;
  }

  void CheckBlock(const BindingBlock& block) {
    const std::unordered_set<const VarNode*> outside = visible_;
    std::unordered_set<const VarNode*> inside;
    for (const Binding& binding : block.bindings) {
      CheckBinding(binding, block.dataflow);
      Define(binding.var);
      inside.insert(binding.var.get());
    }
    if (!block.dataflow) {
      if (!block.outputs.empty()) Violation(block.outputs[0]->name, "is an output of a block that is not dataflow");
      return;
    }
    visible_ = outside;
    for (const Var& output : block.outputs) {
      if (!inside.contains(output.get())) Violation(output->name, "is an output, but not bound in the block");
      visible_.insert(output.get());
    }
  }

  void CheckBinding(const Binding& binding, bool dataflow) {
    const std::string& where = binding.var->name;
    const Value& value = binding.value;
    if (!value) return Violation(where, "is bound to nothing");
    bool defines_symbols = false;
    if (const auto* call = dyn_cast<CallNode>(value)) {
      UseAll(where, call->args);
      if (dataflow && !call->op->pure)
        Violation(where, absl::StrCat(call->op->name, " has an effect in a dataflow block"));
      defines_symbols = call->op->data_dependent;
      if (!defines_symbols) CheckCallType(binding, *call);
    } else if (const auto* tir = dyn_cast<CallTirNode>(value)) {
      UseAll(where, tir->args);
      UseSymbols(where, FreeSymbols(tir->symbols));
      const PrimFunc program = module_.FindProgram(tir->function);
      const absl::Status status = program ? CheckCallTir(*tir, program)
                                          : absl::NotFoundError(absl::StrCat("there is no program ", tir->function));
      if (!status.ok()) Violation(where, std::string(status.message()));
      CheckType(binding, tir->out);
    } else if (const auto* function = dyn_cast<CallFunctionNode>(value)) {
      UseAll(where, function->args);
      const Function callee = module_.FindFunction(function->function);
      const absl::StatusOr<Type> type =
          callee ? TypeOfCallFunction(*function, callee)
                 : absl::NotFoundError(absl::StrCat("there is no function ", function->function));
      if (!type.ok()) Violation(where, std::string(type.status().message()));
      defines_symbols = true;
    } else if (const auto* item = dyn_cast<TupleGetItemNode>(value)) {
      UseAtom(where, item->tuple);
    } else if (const auto* match = dyn_cast<MatchCastNode>(value)) {
      UseAtom(where, match->value);
      CheckType(binding, match->type);
      defines_symbols = true;
    } else if (const auto* branch = dyn_cast<IfNode>(value)) {
      if (dataflow) Violation(where, "a branch in a dataflow block");
      UseAtom(where, branch->condition);
      CheckSeq(*branch->then_branch);
      CheckSeq(*branch->else_branch);
      defines_symbols = true;
    } else if (isa<SeqNode>(value)) {
      Violation(where, "is bound to a sequence");
    } else {
      UseAtom(where, value);
      if (IsAtom(value)) CheckType(binding, TypeOf(value));
    }
    if (defines_symbols) DefineSymbols(binding.var->type, /*anywhere=*/false);
    UseSymbols(where, binding.var->type);
  }

  void CheckType(const Binding& binding, const Type& type) {
    if (!SameType(binding.var->type, type, /*compare_values=*/false)) {
      Violation(binding.var->name,
                absl::StrCat("has type ", ToString(binding.var->type), ", but ", ToString(type), " is inferred"));
    }
  }

  bool IsGuard(const Expr& condition) const {
    return std::any_of(guards_.begin(), guards_.end(),
                       [&](const Expr& guard) { return tilewright::StructuralEqual(guard, condition); });
  }

  void CheckCallType(const Binding& binding, const CallNode& call) {
    std::vector<Expr> assumptions;
    InferContext context(call, &analyzer_, &assumptions);
    const absl::StatusOr<Type> type = call.op->infer(context);
    if (!type.ok()) return Violation(binding.var->name, std::string(type.status().message()));
    for (const Expr& condition : assumptions) {
      if (!IsGuard(condition)) Violation(binding.var->name, "relies on a condition that is not among the guards");
    }
    CheckType(binding, *type);
  }

  const GraphModule& module_;
  const Function& function_;
  std::vector<std::string>* violations_;
  arith::Analyzer analyzer_;
  std::vector<Expr> guards_;  // of the sequences around
  std::unordered_set<const VarNode*> defined_, visible_;
  std::unordered_set<const SymbolNode*> symbols_, extents_;
};

}  // namespace

std::vector<std::string> FindViolations(const GraphModule& module) {
  std::vector<std::string> violations;
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) FunctionChecker(module, entry.function, &violations).Run();
  }
  return violations;
}

}  // namespace tilewright::graph
