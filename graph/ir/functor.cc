#include "graph/ir/functor.h"

#include "base/check.h"
#include "base/status_macros.h"

namespace tilewright::graph {

void Visitor::VisitFunction(const Function& function) {
  for (const Var& param : function->params) VisitVarDefinition(param);
  VisitSeq(function->body.get());
}

void Visitor::Visit(const Value& value) {
  if (!value) return;
  switch (AsGraphKind(value->kind())) {
    case GraphKind::kVar:
      return VisitVar(cast<VarNode>(value));
    case GraphKind::kConstant:
      return VisitConstant(cast<ConstantNode>(value));
    case GraphKind::kShape:
      return VisitShape(cast<ShapeExprNode>(value));
    case GraphKind::kTuple:
      return VisitTuple(cast<TupleNode>(value));
    case GraphKind::kTupleGetItem:
      return VisitTupleGetItem(cast<TupleGetItemNode>(value));
    case GraphKind::kCall:
      return VisitCall(cast<CallNode>(value));
    case GraphKind::kCallTir:
      return VisitCallTir(cast<CallTirNode>(value));
    case GraphKind::kCallFunction:
      return VisitCallFunction(cast<CallFunctionNode>(value));
    case GraphKind::kMatchCast:
      return VisitMatchCast(cast<MatchCastNode>(value));
    case GraphKind::kIf:
      return VisitIf(cast<IfNode>(value));
    case GraphKind::kSeq:
      return VisitSeq(cast<SeqNode>(value));
    default:
      TW_UNREACHABLE();
  }
}

void Visitor::VisitAll(const std::vector<Value>& values) {
  for (const Value& value : values) Visit(value);
}

void Visitor::VisitBlock(const BindingBlock& block) {
  for (const Binding& binding : block.bindings) VisitBinding(binding);
}

void Visitor::VisitBinding(const Binding& binding) {
  Visit(binding.value);
  VisitVarDefinition(binding.var);
}

void Visitor::VisitTuple(const TupleNode* op) { VisitAll(op->fields); }
void Visitor::VisitTupleGetItem(const TupleGetItemNode* op) { Visit(op->tuple); }
void Visitor::VisitCall(const CallNode* op) { VisitAll(op->args); }
void Visitor::VisitCallTir(const CallTirNode* op) { VisitAll(op->args); }
void Visitor::VisitCallFunction(const CallFunctionNode* op) { VisitAll(op->args); }
void Visitor::VisitMatchCast(const MatchCastNode* op) { Visit(op->value); }

void Visitor::VisitIf(const IfNode* op) {
  Visit(op->condition);
  Visit(op->then_branch);
  Visit(op->else_branch);
}

void Visitor::VisitSeq(const SeqNode* op) {
  for (const BindingBlock& block : op->blocks) VisitBlock(block);
  Visit(op->result);
}

absl::StatusOr<Function> Mutator::MutateFunction(const Function& function) {
  replacements_.clear();
  builder_.BeginFunction(function->name, function->params, function->body->guards, function->attrs,
                         function->is_private);
  absl::Status status = MutateBlocks(*function->body);
  if (status.ok()) {
    absl::StatusOr<Function> result = builder_.EndFunction(Replaced(function->body->result));
    if (result.ok()) return result;
    status = result.status();
  }
  builder_.AbandonFunction();
  return status;
}

absl::Status Mutator::MutateBlocks(const SeqNode& seq) {
  for (const BindingBlock& block : seq.blocks) {
    if (block.dataflow) {
      builder_.BeginDataflow();
    } else {
      builder_.EndDataflow();
    }
    for (const Binding& binding : block.bindings) TW_RETURN_IF_ERROR(MutateBinding(binding));
    if (!block.dataflow) continue;
    std::vector<Var> outputs;
    for (const Var& output : block.outputs) {
      const Value replaced = Replaced(output);
      const auto* var = dyn_cast<VarNode>(replaced);
      if (var != nullptr && KeepsOutput(output) && builder_.IsBoundHere(Var(var))) outputs.emplace_back(var);
    }
    builder_.EndDataflow(outputs);
  }
  return absl::OkStatus();
}

absl::Status Mutator::MutateBinding(const Binding& binding) {
  TW_ASSIGN_OR_RETURN(const Value value, Mutate(binding.value));
  if (IsAtom(value) && !IsAtom(binding.value)) {
    Replace(binding.var, value);
    return absl::OkStatus();
  }
  // A value that defines symbols keeps those of the old type, which others mention.
  const Type keep = DefinesSymbols(value) ? binding.var->type : Type();
  TW_ASSIGN_OR_RETURN(Var var, builder_.EmitAs(value, keep, binding.var->name));
  Replace(binding.var, var);
  return absl::OkStatus();
}

Value Mutator::Replaced(const Value& atom) const {
  if (!atom) return atom;
  if (const auto* var = dyn_cast<VarNode>(atom)) {
    const auto it = replacements_.find(var);
    return it == replacements_.end() ? atom : it->second;
  }
  if (const auto* tuple = dyn_cast<TupleNode>(atom)) return Tuple(ReplacedAll(tuple->fields));
  return atom;
}

std::vector<Value> Mutator::ReplacedAll(const std::vector<Value>& values) const {
  std::vector<Value> replaced;
  replaced.reserve(values.size());
  for (const Value& value : values) replaced.push_back(Replaced(value));
  return replaced;
}

absl::StatusOr<Seq> Mutator::MutateBranch(const SeqNode& seq) {
  builder_.BeginBranch();
  for (const Expr& guard : seq.guards) builder_.AddGuard(guard);
  TW_RETURN_IF_ERROR(MutateBlocks(seq));
  return builder_.EndBranch(Replaced(seq.result));
}

absl::StatusOr<Value> Mutator::Mutate(const Value& value) {
  if (IsAtom(value)) return Replaced(value);
  switch (AsGraphKind(value->kind())) {
    case GraphKind::kTupleGetItem: {
      const auto* op = cast<TupleGetItemNode>(value);
      const TupleGetItem self(Replaced(op->tuple), op->index);
      return MutateTupleGetItem(self.get(), self);
    }
    case GraphKind::kCall: {
      const auto* op = cast<CallNode>(value);
      const Call self(op->op, ReplacedAll(op->args), op->attrs);
      return MutateCall(self.get(), self);
    }
    case GraphKind::kCallTir: {
      const auto* op = cast<CallTirNode>(value);
      const CallTir self(op->function, ReplacedAll(op->args), op->out, op->symbols);
      return MutateCallTir(self.get(), self);
    }
    case GraphKind::kCallFunction: {
      const auto* op = cast<CallFunctionNode>(value);
      const CallFunction self(op->function, ReplacedAll(op->args));
      return MutateCallFunction(self.get(), self);
    }
    case GraphKind::kMatchCast: {
      const auto* op = cast<MatchCastNode>(value);
      const MatchCast self(Replaced(op->value), op->type);
      return MutateMatchCast(self.get(), self);
    }
    case GraphKind::kIf: {
      const auto* op = cast<IfNode>(value);
      TW_ASSIGN_OR_RETURN(Seq then_branch, MutateBranch(*op->then_branch));
      TW_ASSIGN_OR_RETURN(Seq else_branch, MutateBranch(*op->else_branch));
      return Value(If(Replaced(op->condition), std::move(then_branch), std::move(else_branch)));
    }
    default:
      TW_UNREACHABLE();
  }
}

const CallNode* Mutator::CallOf(const Value& atom, std::string_view op) const {
  const auto* var = dyn_cast<VarNode>(atom);
  if (var == nullptr) return nullptr;
  const Value bound = builder_.Lookup(Var(var));
  const auto* call = dyn_cast<CallNode>(bound);
  return call != nullptr && call->op->name == op ? call : nullptr;  // the builder keeps it
}

bool DefinesSymbols(const Value& value) {
  if (const auto* call = dyn_cast<CallNode>(value)) return call->op->data_dependent;
  return isa<CallFunctionNode>(value) || isa<IfNode>(value);
}

namespace {

class UseCounter : public Visitor {
 public:
  std::unordered_map<const VarNode*, int> uses;

 protected:
  void VisitVar(const VarNode* var) override { ++uses[var]; }
};

}  // namespace

std::unordered_map<const VarNode*, int> CountUses(const Function& function) {
  UseCounter counter;
  counter.VisitFunction(function);
  return std::move(counter.uses);
}

}  // namespace tilewright::graph
