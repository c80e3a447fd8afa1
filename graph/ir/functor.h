// Traversal: Visitor looks at every binding and value of a function, Mutator rewrites functions through a BlockBuilder.
// Derive and override the kinds of values you care about.
//
//   class FuseMultiplyAdd : public Mutator {
//     using Mutator::Mutator;
//     absl::StatusOr<Value> MutateCall(const CallNode* call, const Value& self) override {
//       if (call->op->name != "add") return self;
//       const CallNode* product = CallOf(call->args[0], "multiply");      // what the argument is bound to, if it is
//       that if (product == nullptr) return self; return builder().CallOp("ewise_fma", {product->args[0],
//       product->args[1], call->args[1]});
//     }
//   };
//
// The mutator emits what it is given, so the result is in A-normal form and typed whatever a pass returns: nested calls
// are bound, an atom takes the place of the variable.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void VisitFunction(const Function& function);
  // Null is ignored. Bindings of a sequence in order, each value before its variable.
  void Visit(const Value& value);

 protected:
  virtual void VisitBlock(const BindingBlock& block);
  virtual void VisitBinding(const Binding& binding);
  virtual void VisitVarDefinition(const Var&) {}
  // A use of a variable; outputs of dataflow blocks are not uses.
  virtual void VisitVar(const VarNode*) {}
  virtual void VisitConstant(const ConstantNode*) {}
  virtual void VisitShape(const ShapeExprNode*) {}
  virtual void VisitTuple(const TupleNode* op);
  virtual void VisitTupleGetItem(const TupleGetItemNode* op);
  virtual void VisitCall(const CallNode* op);
  virtual void VisitCallTir(const CallTirNode* op);
  virtual void VisitCallFunction(const CallFunctionNode* op);
  virtual void VisitMatchCast(const MatchCastNode* op);
  virtual void VisitIf(const IfNode* op);
  virtual void VisitSeq(const SeqNode* op);
  void VisitAll(const std::vector<Value>& values);
};

class Mutator {
 public:
  explicit Mutator(BlockBuilder* builder) : builder_(*builder) {}
  virtual ~Mutator() = default;

  // The rewritten function, which takes the place of the old one in the builder's module.
  absl::StatusOr<Function> MutateFunction(const Function& function);

 protected:
  BlockBuilder& builder() { return builder_; }

  // What a binding of the old function becomes; the default emits Mutate(value) and replaces the variable by that.
  virtual absl::Status MutateBinding(const Binding& binding);
  // Whether an output of a dataflow block stays one where nothing uses it outside.
  virtual bool KeepsOutput(const Var&) { return true; }

  // `self` is the same node as `op`; its operands are rewritten already. The result is any value; `self` keeps it.
  virtual absl::StatusOr<Value> MutateTupleGetItem(const TupleGetItemNode*, const Value& self) { return self; }
  virtual absl::StatusOr<Value> MutateCall(const CallNode*, const Value& self) { return self; }
  virtual absl::StatusOr<Value> MutateCallTir(const CallTirNode*, const Value& self) { return self; }
  virtual absl::StatusOr<Value> MutateCallFunction(const CallFunctionNode*, const Value& self) { return self; }
  virtual absl::StatusOr<Value> MutateMatchCast(const MatchCastNode*, const Value& self) { return self; }

  // A value of the old function with its variables replaced; branches are rewritten whole.
  absl::StatusOr<Value> Mutate(const Value& value);
  // An atom of the old function as one of the new.
  Value Replaced(const Value& atom) const;
  void Replace(const Var& old_var, const Value& atom) { replacements_[old_var.get()] = atom; }

  // The call that an atom of the new function is bound to, if it is a call of that operator; else null.
  const CallNode* CallOf(const Value& atom, std::string_view op) const;

 private:
  absl::Status MutateBlocks(const SeqNode& seq);
  absl::StatusOr<Seq> MutateBranch(const SeqNode& seq);
  std::vector<Value> ReplacedAll(const std::vector<Value>& values) const;

  BlockBuilder& builder_;
  std::unordered_map<const VarNode*, Value> replacements_;
};

// Whether binding the value again may give its type new symbols: a call whose extents depend on data, a branch.
bool DefinesSymbols(const Value& value);

// How often each variable is used as an argument, a condition or a result; several uses by one binding count each.
std::unordered_map<const VarNode*, int> CountUses(const Function& function);

}  // namespace tilewright::graph
