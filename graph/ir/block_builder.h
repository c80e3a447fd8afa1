// BlockBuilder: the only maker of bindings.
//
//   BlockBuilder b(&ops, module);                                  // programs and functions are added to the module
//   Symbol n("n", DataType::Int(64));
//   Var x("x", TensorType(DataType::Float(32), {n, Extent(784)}));
//   b.BeginFunction("main", {x});
//   b.BeginDataflow();
//   TW_ASSIGN_OR_RETURN(Var h, b.Emit(b.CallOp("matmul", {x, Constant(weights)})));   // infers (n, 128)
//   TW_ASSIGN_OR_RETURN(Var y, b.Emit(b.CallOp("nn.relu", {h}), "y"));
//   TW_RETURN_IF_ERROR(b.EndFunction(y).status());                 // the module has "main" now
//   GraphModule result = b.module();
//
// What it guarantees:
//   * A-normal form: arguments that are not atoms are bound first, so nested values may be given:
//     b.Emit(b.CallOp("add", {b.CallOp("matmul", {x, w}), bias})).
//   * Every variable has its inferred type. Errors of users (extents that do not fit, an unknown attribute) come back
//   as
//     a status that names the operator.
//   * What is used outside of the dataflow block that binds it becomes one of the block's outputs.
//   * Branches and impure calls stand in blocks that are not dataflow: one that is emitted inside a dataflow block
//     ends it, and a new one begins after it.
// With `cse`, a pure value that was bound before and is visible gives the variable that it has already, unless it
// defines symbols.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"
#include "graph/ir/value.h"
#include "ir/arith/analyzer.h"

namespace tilewright::graph {

struct BuilderOptions {
  bool cse = false;
};

class BlockBuilder {
 public:
  // `ops` must outlive the builder.
  explicit BlockBuilder(const OpTable* ops, GraphModule module = {}, BuilderOptions options = {});
  ~BlockBuilder();
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  const OpTable& ops() const { return *ops_; }
  const GraphModule& module() const { return module_; }

  // --- Functions. One may be begun inside another, whose building goes on when it has ended.
  // `guards` hold at entry and are known to type inference. Symbols are at least 0.
  void BeginFunction(std::string name, std::vector<Var> params, std::vector<Expr> guards = {}, Attrs attrs = {},
                     bool is_private = false);
  // The function, which the module has now; `result` may be any value.
  absl::StatusOr<Function> EndFunction(const Value& result);
  // Forgets the function that is being built.
  void AbandonFunction();
  // `hint`, or the first of hint_1, hint_2, ... that neither an entry of the module has nor a function being built.
  std::string UniqueName(std::string_view hint) const;

  // --- Bindings.
  void BeginDataflow();
  // `outputs` come first among the block's outputs, whether or not they are used.
  void EndDataflow(const std::vector<Var>& outputs = {});
  bool in_dataflow() const;
  // Binds the value to a new variable (a Var stays what it is). `hint` is the variable's name, made unique in text
  // only.
  absl::StatusOr<Var> Emit(const Value& value, std::string hint = "");
  // The same for a text that says the type (null: it does not). Extents that depend on data take the text's symbols;
  // an error where the type is not the one that is inferred.
  absl::StatusOr<Var> EmitAs(const Value& value, const Type& written, std::string hint);
  // Whether the variable is bound in the block that is open.
  bool IsBoundHere(const Var& var) const;
  // The value as an atom: Emit, unless it is one.
  absl::StatusOr<Value> Atom(const Value& value);

  // --- Branches: what is emitted between the two belongs to the branch.
  //   b.BeginBranch(); ...; Seq then_branch = b.EndBranch(result);  likewise else;  b.Emit(If(c, then_branch,
  //   else_branch))
  void BeginBranch();
  absl::StatusOr<Seq> EndBranch(const Value& result);

  // --- Values. CHECKs that the operator exists.
  Value CallOp(std::string_view name, std::vector<Value> args, Attrs attrs = {}) const;

  // --- Types.
  // The type of a value whose parts are atoms, as Emit would bind it.
  absl::StatusOr<Type> Infer(const Value& value);
  // What a variable was bound to in this function; null for parameters.
  Value Lookup(const Var& var) const;
  // Arithmetic under what is known of the function's symbols.
  arith::Analyzer& analyzer();
  // What must hold where the innermost branch (or the function) begins; type inference knows it from here on.
  void Assume(const Expr& condition);
  // The same without asking whether it is known already: guards of a function that is written again.
  void AddGuard(const Expr& condition);

  // --- The module.
  // Adds a program under `hint` or a name close to it, which is returned; an equal program that is there is reused.
  std::string AddProgram(const PrimFunc& program, std::string_view hint);
  void SetFunction(Function function) { module_.Set(std::move(function)); }
  void SetProgram(PrimFunc program) { module_.Set(std::move(program)); }
  void Remove(std::string_view name);

 private:
  struct Scope;
  struct FunctionState;

  FunctionState& state() const;
  Scope& scope() const;
  absl::StatusOr<Value> Normalize(const Value& value);
  absl::StatusOr<std::vector<Value>> NormalizeAll(const std::vector<Value>& values);
  absl::StatusOr<Value> NormalizeCall(const CallNode& call);
  absl::StatusOr<Type> InferCall(const CallNode& call);
  absl::Status MarkUses(const Value& value);
  absl::Status MarkUse(const VarNode* var);
  absl::StatusOr<Seq> CloseScope(const Value& result);
  Var Bind(const Value& value, Type type, std::string hint);
  Var FindBound(const Value& value, uint64_t hash) const;
  void DefineSymbols(const Type& type);
  absl::StatusOr<Type> Reconcile(const Type& inferred, const Type& written);

  const OpTable* ops_;
  GraphModule module_;
  const BuilderOptions options_;
  bool has_program_names_ = false;
  std::unordered_multimap<uint64_t, std::string> program_names_;  // by structural hash
  std::vector<std::unique_ptr<FunctionState>> functions_;         // that are being built, the innermost last
};

}  // namespace tilewright::graph
