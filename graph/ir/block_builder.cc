#include "graph/ir/block_builder.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/ir/infer.h"
#include "graph/ir/structural.h"
#include "ir/structural.h"

namespace tilewright::graph {

// A function or a branch that is being written.
struct BlockBuilder::Scope {
  explicit Scope(arith::Analyzer* analyzer) : known(analyzer) {}
  std::vector<BindingBlock> blocks;
  bool open = false;  // the last block takes bindings
  std::vector<Expr> guards;
  std::unordered_multimap<uint64_t, Binding> bound;  // what CSE may find: by hash of the value
  arith::Analyzer::Scope known;
};

struct BlockBuilder::FunctionState {
  struct Place {
    const Scope* scope = nullptr;  // null: a parameter
    size_t block = 0;
  };
  FunctionNode::Fields fields;
  arith::Analyzer analyzer;
  std::vector<std::unique_ptr<Scope>> scopes;
  std::unordered_map<const VarNode*, Place> places;
  std::unordered_map<const VarNode*, Value> values;
  std::unordered_set<const SymbolNode*> symbols, extents;
  int names = 0;

  ~FunctionState() {
    while (!scopes.empty()) scopes.pop_back();  // innermost first, before the analyzer
  }
};

namespace {

// Without empty blocks, and neighbours that are not dataflow joined.
std::vector<BindingBlock> Compact(std::vector<BindingBlock> blocks) {
  std::vector<BindingBlock> compact;
  for (BindingBlock& block : blocks) {
    if (block.bindings.empty()) continue;
    if (compact.empty() || block.dataflow || compact.back().dataflow) {
      compact.push_back(std::move(block));
    } else {
      std::vector<Binding>& all = compact.back().bindings;
      all.insert(all.end(), block.bindings.begin(), block.bindings.end());
    }
  }
  return compact;
}

}  // namespace

BlockBuilder::BlockBuilder(const OpTable* ops, GraphModule module, BuilderOptions options)
    : ops_(ops), module_(std::move(module)), options_(options) {}

BlockBuilder::~BlockBuilder() = default;

BlockBuilder::FunctionState& BlockBuilder::state() const {
  TW_CHECK(!functions_.empty()) << "no function is being built";
  return *functions_.back();
}

BlockBuilder::Scope& BlockBuilder::scope() const { return *state().scopes.back(); }

arith::Analyzer& BlockBuilder::analyzer() { return state().analyzer; }

void BlockBuilder::DefineSymbols(const Type& type) {
  FunctionState& f = state();
  for (const Symbol& symbol : FreeSymbols(type)) f.symbols.insert(symbol.get());
  for (const Symbol& symbol : ExtentSymbols(type)) {
    if (f.extents.insert(symbol.get()).second) f.analyzer.Assume(symbol >= Extent(0));
  }
}

void BlockBuilder::BeginFunction(std::string name, std::vector<Var> params, std::vector<Expr> guards, Attrs attrs,
                                 bool is_private) {
  functions_.push_back(std::make_unique<FunctionState>());
  FunctionState& f = state();
  for (const Var& param : params) {
    f.places[param.get()] = {};
    DefineSymbols(param->type);
  }
  f.fields.name = std::move(name);
  f.fields.params = std::move(params);
  f.fields.attrs = std::move(attrs);
  f.fields.is_private = is_private;
  BeginBranch();
  for (const Expr& guard : guards) AddGuard(guard);
}

void BlockBuilder::AbandonFunction() {
  state();
  functions_.pop_back();
}

absl::StatusOr<Function> BlockBuilder::EndFunction(const Value& result) {
  FunctionState& f = state();
  TW_CHECK(f.scopes.size() == 1) << "function " << f.fields.name << " ends inside a branch";
  TW_ASSIGN_OR_RETURN(f.fields.body, CloseScope(result));
  f.fields.result_type = TypeOf(f.fields.body->result);
  Function function(std::move(f.fields));
  functions_.pop_back();
  module_.Set(function);
  return function;
}

std::string BlockBuilder::UniqueName(std::string_view hint) const {
  const auto taken = [&](const std::string& name) {
    return module_.Contains(name) ||
           std::any_of(functions_.begin(), functions_.end(), [&](const auto& f) { return f->fields.name == name; });
  };
  std::string name(hint);
  for (int i = 1; taken(name); ++i) name = absl::StrCat(std::string(hint), "_", i);
  return name;
}

void BlockBuilder::BeginBranch() {
  FunctionState& f = state();
  f.scopes.push_back(std::make_unique<Scope>(&f.analyzer));
}

absl::StatusOr<Seq> BlockBuilder::EndBranch(const Value& result) {
  TW_CHECK(state().scopes.size() > 1) << "no branch is being built";
  return CloseScope(result);
}

absl::StatusOr<Seq> BlockBuilder::CloseScope(const Value& result) {
  TW_ASSIGN_OR_RETURN(const Value atom, Atom(result));
  if (!atom) return absl::InvalidArgumentError("a function or branch without a result");
  EndDataflow();
  TW_RETURN_IF_ERROR(MarkUses(atom));
  Scope& s = scope();
  Seq seq(Compact(std::move(s.blocks)), atom, std::move(s.guards));
  state().scopes.pop_back();
  return seq;
}

bool BlockBuilder::in_dataflow() const {
  const Scope& s = scope();
  return s.open && s.blocks.back().dataflow;
}

void BlockBuilder::BeginDataflow() {
  Scope& s = scope();
  s.blocks.push_back({.dataflow = true});
  s.open = true;
}

void BlockBuilder::EndDataflow(const std::vector<Var>& outputs) {
  Scope& s = scope();
  if (!in_dataflow()) return;
  s.open = false;
  std::vector<Var> all = outputs;
  all.insert(all.end(), s.blocks.back().outputs.begin(), s.blocks.back().outputs.end());
  std::unordered_set<const VarNode*> seen;
  std::erase_if(all, [&](const Var& output) { return !seen.insert(output.get()).second; });
  s.blocks.back().outputs = std::move(all);
}

void BlockBuilder::Assume(const Expr& condition) {
  if (analyzer().CanProve(condition)) return;
  for (const auto& s : state().scopes) {
    for (const Expr& guard : s->guards) {
      if (tilewright::StructuralEqual(guard, condition)) return;
    }
  }
  AddGuard(condition);
}

void BlockBuilder::AddGuard(const Expr& condition) {
  analyzer().Assume(condition);
  scope().guards.push_back(condition);
}

Value BlockBuilder::CallOp(std::string_view name, std::vector<Value> args, Attrs attrs) const {
  return Call(ops_->Get(name), std::move(args), std::move(attrs));
}

absl::StatusOr<Value> BlockBuilder::Atom(const Value& value) {
  if (!value || (IsAtom(value) && !isa<TupleNode>(value))) return value;
  if (!isa<TupleNode>(value)) {
    TW_ASSIGN_OR_RETURN(Var var, Emit(value));
    return Value(var);
  }
  return Normalize(value);
}

absl::StatusOr<std::vector<Value>> BlockBuilder::NormalizeAll(const std::vector<Value>& values) {
  std::vector<Value> atoms;
  atoms.reserve(values.size());
  for (const Value& value : values) {
    TW_ASSIGN_OR_RETURN(Value atom, Atom(value));
    atoms.push_back(std::move(atom));
  }
  return atoms;
}

absl::StatusOr<Value> BlockBuilder::NormalizeCall(const CallNode& call) {
  TW_ASSIGN_OR_RETURN(std::vector<Value> args, NormalizeAll(call.args));
  while (!args.empty() && !args.back() && call.op->is_optional(args.size() - 1)) args.pop_back();
  TW_ASSIGN_OR_RETURN(Attrs attrs, CompleteAttrs(*call.op, call.attrs));
  Call normal(call.op, std::move(args), std::move(attrs));
  TW_RETURN_IF_ERROR(CheckArity(*normal));
  return Value(normal);
}

// The value with atoms as its parts.
absl::StatusOr<Value> BlockBuilder::Normalize(const Value& value) {
  TW_CHECK(value) << "an absent value is bound";
  switch (AsGraphKind(value->kind())) {
    case GraphKind::kVar:
    case GraphKind::kConstant:
    case GraphKind::kShape:
      return value;
    case GraphKind::kTuple: {
      TW_ASSIGN_OR_RETURN(std::vector<Value> fields, NormalizeAll(cast<TupleNode>(value)->fields));
      return Value(Tuple(std::move(fields)));
    }
    case GraphKind::kTupleGetItem: {
      const auto* item = cast<TupleGetItemNode>(value);
      TW_ASSIGN_OR_RETURN(const Value tuple, Atom(item->tuple));
      const auto* fields = dyn_cast<TupleNode>(tuple);
      const bool inside =
          fields != nullptr && item->index >= 0 && item->index < static_cast<int>(fields->fields.size());
      return inside ? fields->fields[static_cast<size_t>(item->index)] : Value(TupleGetItem(tuple, item->index));
    }
    case GraphKind::kCall:
      return NormalizeCall(*cast<CallNode>(value));
    case GraphKind::kCallTir: {
      const auto* call = cast<CallTirNode>(value);
      TW_ASSIGN_OR_RETURN(std::vector<Value> args, NormalizeAll(call->args));
      return Value(CallTir(call->function, std::move(args), call->out, call->symbols));
    }
    case GraphKind::kCallFunction: {
      const auto* call = cast<CallFunctionNode>(value);
      TW_ASSIGN_OR_RETURN(std::vector<Value> args, NormalizeAll(call->args));
      return Value(CallFunction(call->function, std::move(args)));
    }
    case GraphKind::kMatchCast: {
      TW_ASSIGN_OR_RETURN(Value inner, Atom(cast<MatchCastNode>(value)->value));
      return Value(MatchCast(std::move(inner), cast<MatchCastNode>(value)->type));
    }
    case GraphKind::kIf: {
      const auto* branch = cast<IfNode>(value);
      TW_ASSIGN_OR_RETURN(Value condition, Atom(branch->condition));
      return Value(If(std::move(condition), branch->then_branch, branch->else_branch));
    }
    default:
      return absl::InvalidArgumentError("a sequence of bindings is not a value that can be bound");
  }
}

absl::StatusOr<Type> BlockBuilder::InferCall(const CallNode& call) {
  std::vector<Expr> assumptions;
  absl::StatusOr<Type> type;
  {
    // What a rule assumed before it failed is forgotten.
    const arith::Analyzer::Scope during(&analyzer());
    InferContext context(call, &analyzer(), &assumptions);
    type = call.op->infer(context);
  }
  if (!type.ok()) return type;
  for (const Expr& condition : assumptions) Assume(condition);
  return type;
}

absl::StatusOr<Type> BlockBuilder::Infer(const Value& value) {
  if (IsAtom(value)) return TypeOf(value);
  if (const auto* call = dyn_cast<CallNode>(value)) return InferCall(*call);
  if (const auto* item = dyn_cast<TupleGetItemNode>(value)) {
    const Type type = TypeOf(item->tuple);
    const auto* tuple = dyn_cast<TupleTypeNode>(type);
    if (tuple == nullptr) return absl::InvalidArgumentError("a field of a value that is not a tuple");
    if (item->index < 0 || item->index >= static_cast<int>(tuple->fields.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("field ", item->index, " of a tuple of ", tuple->fields.size(), " fields"));
    }
    return tuple->fields[static_cast<size_t>(item->index)];
  }
  if (const auto* call = dyn_cast<CallTirNode>(value)) {
    const PrimFunc program = module_.FindProgram(call->function);
    if (!program)
      return absl::InvalidArgumentError(absl::StrCat("the module does not have a program ", call->function));
    TW_RETURN_IF_ERROR(CheckCallTir(*call, program));
    return call->out;
  }
  if (const auto* call = dyn_cast<CallFunctionNode>(value)) {
    const Function callee = module_.FindFunction(call->function);
    if (!callee)
      return absl::InvalidArgumentError(absl::StrCat("the module does not have a function ", call->function));
    return TypeOfCallFunction(*call, callee);
  }
  if (const auto* match = dyn_cast<MatchCastNode>(value)) return match->type;
  const auto* branch = dyn_cast<IfNode>(value);
  TW_CHECK(branch != nullptr) << "the type of a sequence";
  const Type condition = TypeOf(branch->condition);
  const auto* tensor = dyn_cast<TensorTypeNode>(condition);
  if (tensor == nullptr || !tensor->dtype.is_bool()) {
    return absl::InvalidArgumentError("the condition of a branch must be a bool tensor");
  }
  return JoinTypes(TypeOf(branch->then_branch->result), TypeOf(branch->else_branch->result));
}

absl::Status BlockBuilder::MarkUse(const VarNode* var) {
  FunctionState& f = state();
  const auto place = f.places.find(var);
  if (place == f.places.end()) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", var->name, " is not bound in this function"));
  }
  const Scope* of = place->second.scope;
  if (of == nullptr) return absl::OkStatus();
  const auto it = std::find_if(f.scopes.begin(), f.scopes.end(), [&](const auto& s) { return s.get() == of; });
  if (it == f.scopes.end()) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", var->name, " is used outside of its branch"));
  }
  Scope& s = **it;
  BindingBlock& block = s.blocks[place->second.block];
  const bool inside = &s == &scope() && s.open && place->second.block + 1 == s.blocks.size();
  if (!block.dataflow || inside) return absl::OkStatus();
  const auto same = [&](const Var& output) { return output.get() == var; };
  if (std::none_of(block.outputs.begin(), block.outputs.end(), same)) block.outputs.push_back(Var(var));
  return absl::OkStatus();
}

absl::Status BlockBuilder::MarkUses(const Value& value) {
  const auto all = [&](const std::vector<Value>& values) {
    absl::Status status;
    for (const Value& v : values) status.Update(MarkUses(v));
    return status;
  };
  if (!value) return absl::OkStatus();
  switch (AsGraphKind(value->kind())) {
    case GraphKind::kVar:
      return MarkUse(cast<VarNode>(value));
    case GraphKind::kTuple:
      return all(cast<TupleNode>(value)->fields);
    case GraphKind::kTupleGetItem:
      return MarkUses(cast<TupleGetItemNode>(value)->tuple);
    case GraphKind::kCall:
      return all(cast<CallNode>(value)->args);
    case GraphKind::kCallTir:
      return all(cast<CallTirNode>(value)->args);
    case GraphKind::kCallFunction:
      return all(cast<CallFunctionNode>(value)->args);
    case GraphKind::kMatchCast:
      return MarkUses(cast<MatchCastNode>(value)->value);
    case GraphKind::kIf:  // what the branches use was marked when they were built
      return MarkUses(cast<IfNode>(value)->condition);
    default:
      return absl::OkStatus();
  }
}

Var BlockBuilder::FindBound(const Value& value, uint64_t hash) const {
  const FunctionState& f = state();
  for (const auto& s : f.scopes) {
    const auto [begin, end] = s->bound.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (SameValue(it->second.value, value)) return it->second.var;
    }
  }
  return Var();
}

Var BlockBuilder::Bind(const Value& value, Type type, std::string hint) {
  FunctionState& f = state();
  Scope& s = scope();
  if (!s.open) {
    s.blocks.push_back({});
    s.open = true;
  }
  DefineSymbols(type);
  if (hint.empty()) hint = f.names++ == 0 ? "lv" : absl::StrCat("lv", f.names - 1);
  const Var var(std::move(hint), std::move(type));
  f.places[var.get()] = {.scope = &s, .block = s.blocks.size() - 1};
  f.values[var.get()] = value;
  s.blocks.back().bindings.push_back({var, value});
  return var;
}

// The inferred type, with symbols that are new in it replaced by those that the text gives in their places.
absl::StatusOr<Type> BlockBuilder::Reconcile(const Type& inferred, const Type& written) {
  if (!written) return inferred;
  const absl::Status wrong = absl::InvalidArgumentError(
      absl::StrCat("the type is written as ", ToString(written), ", but ", ToString(inferred), " is inferred"));
  if (inferred->kind() != written->kind()) return wrong;
  if (const auto* tuple = dyn_cast<TupleTypeNode>(inferred)) {
    const std::vector<Type>& other = cast<TupleTypeNode>(written)->fields;
    if (tuple->fields.size() != other.size()) return wrong;
    std::vector<Type> fields;
    for (size_t i = 0; i < other.size(); ++i) {
      TW_ASSIGN_OR_RETURN(Type field, Reconcile(tuple->fields[i], other[i]));
      fields.push_back(std::move(field));
    }
    return TupleType(std::move(fields));
  }
  if (isa<ShapeTypeNode>(inferred)) return inferred;
  const auto *from = cast<TensorTypeNode>(inferred), *to = cast<TensorTypeNode>(written);
  if (from->dtype != to->dtype || (to->shape && from->rank() != to->rank())) return wrong;
  if (!to->shape) return inferred;
  const auto is_new = [&](const Expr& e) {
    const auto* symbol = dyn_cast<SymbolNode>(e);
    return symbol != nullptr && !state().symbols.contains(symbol);
  };
  std::vector<Expr> shape = *from->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Expr& other = (*to->shape)[i];
    if (is_new(shape[i]) && isa<SymbolNode>(other)) {
      shape[i] = other;
    } else if (!is_new(shape[i]) && arith::Analyzer().CanProve(shape[i] != other)) {
      return wrong;
    }
  }
  if (from->values) {
    std::vector<Expr> values = *from->values;
    for (size_t i = 0; to->values && i < std::min(values.size(), to->values->size()); ++i) {
      if (is_new(values[i]) && isa<SymbolNode>((*to->values)[i])) values[i] = (*to->values)[i];
    }
    return TensorType::WithValues(from->dtype, std::move(shape), std::move(values));
  }
  return TensorType(from->dtype, std::move(shape));
}

absl::StatusOr<Var> BlockBuilder::Emit(const Value& value, std::string hint) {
  return EmitAs(value, Type(), std::move(hint));
}

absl::StatusOr<Var> BlockBuilder::EmitAs(const Value& value, const Type& written, std::string hint) {
  TW_ASSIGN_OR_RETURN(const Value normal, Normalize(value));
  if (const auto* var = dyn_cast<VarNode>(normal)) {
    TW_RETURN_IF_ERROR(Reconcile(var->type, written).status());
    return Var(var);
  }
  const bool pure = IsPure(normal);
  // Each that defines symbols has its own.
  const bool share = options_.cse && pure && !DefinesSymbols(normal);
  const uint64_t hash = share ? HashValue(normal) : 0;
  if (share) {
    if (Var bound = FindBound(normal, hash)) return bound;
  }
  TW_ASSIGN_OR_RETURN(Type type, Infer(normal));
  TW_ASSIGN_OR_RETURN(type, Reconcile(type, written));
  const bool split = !pure && in_dataflow();
  if (split) EndDataflow();
  TW_RETURN_IF_ERROR(MarkUses(normal));
  Var var = Bind(normal, std::move(type), std::move(hint));
  if (share) scope().bound.emplace(hash, Binding{var, normal});
  if (split) BeginDataflow();
  return var;
}

bool BlockBuilder::IsBoundHere(const Var& var) const {
  const auto place = state().places.find(var.get());
  const Scope& s = scope();
  return place != state().places.end() && place->second.scope == &s && s.open &&
         place->second.block + 1 == s.blocks.size();
}

Value BlockBuilder::Lookup(const Var& var) const {
  const auto it = state().values.find(var.get());
  return it == state().values.end() ? Value() : it->second;
}

std::string BlockBuilder::AddProgram(const PrimFunc& program, std::string_view hint) {
  if (!has_program_names_) {
    for (const ModuleEntry& entry : module_.entries()) {
      if (entry.program) program_names_.emplace(tilewright::StructuralHash(entry.program), entry.name());
    }
    has_program_names_ = true;
  }
  const uint64_t hash = tilewright::StructuralHash(program);
  const auto [begin, end] = program_names_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const PrimFunc existing = module_.FindProgram(it->second);
    if (existing && tilewright::StructuralEqual(existing, program)) return it->second;
  }
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.name = UniqueName(hint);
  program_names_.emplace(hash, fields.name);
  const std::string name = fields.name;
  module_.Set(PrimFunc(std::move(fields)));
  return name;
}

void BlockBuilder::Remove(std::string_view name) { module_.Remove(name); }

}  // namespace tilewright::graph
