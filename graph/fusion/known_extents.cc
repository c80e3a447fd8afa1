#include "graph/fusion/known_extents.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/fuse_programs.h"
#include "ir/arith/analyzer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// The guards that hold before anything runs.
std::vector<Expr> EntryGuards(const FunctionNode& function) {
  std::unordered_set<const SymbolNode*> known;
  for (const Var& param : function.params) {
    for (const Symbol& symbol : ExtentSymbols(param->type)) known.insert(symbol.get());
  }
  std::vector<Expr> guards;
  for (const Expr& guard : function.body->guards) {
    const std::vector<Symbol> used = FreeSymbols(std::vector<Expr>{guard});
    if (std::ranges::all_of(used, [&](const Symbol& symbol) { return known.contains(symbol.get()); })) {
      guards.push_back(guard);
    }
  }
  return guards;
}

// Whether some value's type has symbols that depend on the extents of others: those of branches are joined, those of a
// callee's result are told by its arguments.
bool JoinsTypes(const Function& function) {
  class Finder : public Visitor {
   public:
    bool found = false;

   protected:
    void VisitIf(const IfNode*) override { found = true; }
    void VisitCallFunction(const CallFunctionNode*) override { found = true; }
  };
  Finder finder;
  finder.VisitFunction(function);
  return finder.found;
}

class ExtentSimplifier : public Mutator {
 public:
  ExtentSimplifier(BlockBuilder* builder, const std::vector<Expr>& facts) : Mutator(builder) {
    for (const Expr& fact : facts) known_.Assume(fact);
  }

 protected:
  // Reshapes name the extents of their results.
  absl::StatusOr<Value> MutateCall(const CallNode* call, const Value& self) override {
    std::vector<Value> args = call->args;
    bool changes = false;
    for (Value& arg : args) {
      const auto* shape = dyn_cast<ShapeExprNode>(arg);
      if (shape == nullptr) continue;
      std::vector<Expr> values = shape->values;
      if (!Simplified(&values)) continue;
      arg = ShapeExpr(std::move(values));
      changes = true;
    }
    return changes ? Value(Call(call->op, std::move(args), call->attrs)) : self;
  }

  absl::StatusOr<Value> MutateCallTir(const CallTirNode* call, const Value& self) override {
    const PrimFunc program = builder().module().FindProgram(call->function);
    bool changes = false;
    std::vector<Type> types;
    for (const TensorTypeNode* type : TensorsOf(call->out)) {
      if (!type->shape) return self;
      std::vector<Expr> shape = *type->shape;
      changes |= Simplified(&shape);
      types.emplace_back(TensorType(type->dtype, std::move(shape)));
    }
    std::vector<Expr> symbols = call->symbols;
    changes |= Simplified(&symbols);
    const Type out = isa<TupleTypeNode>(call->out) ? Type(TupleType(types)) : types[0];
    const CallTir same(call->function, call->args, out, std::move(symbols));
    const std::optional<Value> simpler = IsRegular(program) ? WithSimplerProgram(*same) : std::nullopt;
    return simpler ? *simpler : changes ? Value(same) : self;
  }

 private:
  bool Simplified(std::vector<Expr>* exprs) {
    bool changes = false;
    for (Expr& e : *exprs) {
      const Expr simple = known_.Simplify(e);
      changes |= !simple.same_as(e);
      e = simple;
    }
    return changes;
  }

  // The same call of a program in which the facts were used; nothing where they change nothing.
  std::optional<Value> WithSimplerProgram(const CallTirNode& call) {
    std::vector<Var> params, results;
    for (const Value& arg : call.args) {
      const auto* var = dyn_cast<VarNode>(arg);
      if (var != nullptr && std::ranges::none_of(params, [&](const Var& p) { return p.get() == var; })) {
        params.emplace_back(var);
      }
    }
    const Var made("made", call.out);
    std::vector<Binding> bindings = {{made, Value(&call)}};
    if (const auto* tuple = dyn_cast<TupleTypeNode>(call.out)) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        results.emplace_back("field", tuple->fields[i]);
        bindings.push_back({results.back(), TupleGetItem(made, static_cast<int>(i))});
      }
    } else {
      results = {made};
    }
    const auto composed = ComposePrograms(builder().module(), call.function, params, bindings, results);
    if (!composed) return std::nullopt;
    const PrimFunc simple = WithFacts(composed->program, &known_);
    if (tilewright::StructuralEqual(simple, WithFacts(composed->program, nullptr))) return std::nullopt;
    std::vector<Value> args(params.begin(), params.end());
    args.insert(args.end(), composed->constants.begin(), composed->constants.end());
    return Value(CallTir(builder().AddProgram(simple, call.function), std::move(args), call.out, composed->symbols));
  }

  arith::Analyzer known_;
};

}  // namespace

absl::StatusOr<GraphModule> KnownExtents(const GraphModule& module, const OpTable& ops) {
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function && JoinsTypes(entry.function)) return module;
  }
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    const std::vector<Expr> guards = EntryGuards(*entry.function);
    if (guards.empty()) continue;
    ExtentSimplifier simplifier(&builder, guards);
    TW_RETURN_IF_ERROR(simplifier.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
