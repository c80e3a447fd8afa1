#include "graph/rewrite/fuse_programs.h"

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/extent_names.h"
#include "graph/rewrite/lowering.h"
#include "ir/annotations.h"
#include "ir/builder.h"
#include "ir/functor.h"
#include "ir/ops/movement.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

// Gives blocks names that are not taken.
class BlockRenamer : public StmtMutator {
 public:
  explicit BlockRenamer(std::set<std::string>* taken) : taken_(*taken) {}

  Block MutateBlock(const Block& block) override {
    const Block inner = StmtMutator::MutateBlock(block);
    std::string name = inner->name;
    for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(inner->name, "_", i);
    if (name == inner->name) return inner;
    BlockNode::Fields fields = inner->fields();
    fields.name = std::move(name);
    return Block(std::move(fields));
  }

 private:
  std::set<std::string>& taken_;
};

// Symbols that are whole extents of the types on the left, by the extents on the right.
void BindSymbols(const Type& type, const Type& actual, VarMap& symbols) {
  const std::vector<const TensorTypeNode*> from = TensorsOf(type), to = TensorsOf(actual);
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    if (!from[i]->shape || !to[i]->shape || from[i]->rank() != to[i]->rank()) continue;
    for (size_t d = 0; d < from[i]->shape->size(); ++d) {
      const auto* symbol = dyn_cast<SymbolNode>((*from[i]->shape)[d]);
      if (symbol != nullptr) symbols.try_emplace(Symbol(symbol), (*to[i]->shape)[d]);
    }
  }
}

// Writes one program for several bindings.
class ProgramFuser {
 public:
  ProgramFuser(const GraphModule& module, std::string name, ExtentNames names)
      : module_(module), name_(std::move(name)), names_(std::move(names)) {}

  std::optional<Composed> Run(std::span<const Var> params, std::span<const Binding> bindings,
                              std::span<const Var> results) {
    for (const Var& param : params) {
      if (!AddParam(*param)) return std::nullopt;
    }
    for (const Var& result : results) {
      if (!AddResult(*result)) return std::nullopt;
    }
    for (const Binding& binding : bindings) {
      const auto* item = dyn_cast<TupleGetItemNode>(binding.value);
      const auto* tuple = item == nullptr ? nullptr : dyn_cast<VarNode>(item->tuple);
      if (tuple != nullptr) items_[tuple].emplace(static_cast<size_t>(item->index), binding.var.get());
    }
    for (const Binding& binding : bindings) {
      if (!AddBinding(binding)) return std::nullopt;
    }
    for (const Var& result : results) {
      if (!written_.contains(buffers_.at(result.get())[0].get())) return std::nullopt;
    }
    return Finish();
  }

 private:
  // What a variable stands for: one buffer, or one for each field of a tuple.
  using Buffers = std::vector<Buffer>;

  Buffer MakeBuffer(const std::string& name, const TensorTypeNode& type) const {
    return Buffer(name, names_.Of(*type.shape), type.dtype);
  }

  // A buffer for a variable that is a tensor of known rank; null for another.
  Buffer BufferFor(const VarNode& var) const {
    const auto* tensor = dyn_cast<TensorTypeNode>(var.type);
    return tensor == nullptr || !tensor->shape ? Buffer() : MakeBuffer(var.name, *tensor);
  }

  bool AddParam(const VarNode& var) {
    const Buffer buffer = BufferFor(var);
    if (!buffer) return false;
    inputs_.push_back({buffer->data, buffer});
    buffers_[&var] = {buffer};
    return true;
  }

  // The results become parameters; they must be computed here.
  bool AddResult(const VarNode& var) {
    const Buffer buffer = BufferFor(var);
    if (!buffer || buffers_.contains(&var)) return false;
    outputs_.push_back({buffer->data, buffer});
    buffers_[&var] = {buffer};
    return true;
  }

  std::optional<Buffer> BufferOf(const Value& atom) {
    if (const auto* constant = dyn_cast<ConstantNode>(atom)) {
      const auto known = constants_.find(constant);
      if (known != constants_.end()) return known->second;
      const Buffer buffer = MakeBuffer(absl::StrCat("weight", captured_.size()), *constant->type);
      captured_.push_back(atom);
      weights_.push_back({buffer->data, buffer});
      constants_.emplace(constant, buffer);
      return buffer;
    }
    const auto* var = dyn_cast<VarNode>(atom);
    const auto it = var == nullptr ? buffers_.end() : buffers_.find(var);
    if (it == buffers_.end() || it->second.size() != 1) return std::nullopt;
    return it->second[0];
  }

  bool AddBinding(const Binding& binding) {
    const VarNode* var = binding.var.get();
    if (const auto* item = dyn_cast<TupleGetItemNode>(binding.value)) {
      const auto* tuple = dyn_cast<VarNode>(item->tuple);
      const auto it = tuple == nullptr ? buffers_.end() : buffers_.find(tuple);
      if (it == buffers_.end()) return false;
      const Buffer& field = it->second[static_cast<size_t>(item->index)];
      const auto known = buffers_.try_emplace(var, Buffers{field}).first;
      return known->second[0].same_as(field);
    }
    if (const auto* call = dyn_cast<CallNode>(binding.value)) return AddView(*call, *var);
    const auto* call = dyn_cast<CallTirNode>(binding.value);
    if (call == nullptr) return false;
    const std::vector<const TensorTypeNode*> types = TensorsOf(call->out);
    if (!buffers_.contains(var)) {
      Buffers results;
      for (size_t i = 0; i < types.size(); ++i) {
        const auto items = items_.find(var);
        const auto item = items == items_.end() ? ItemsOfTuple::const_iterator() : items->second.find(i);
        const bool wanted = items != items_.end() && item != items->second.end() && buffers_.contains(item->second);
        results.push_back(wanted ? buffers_.at(item->second)[0] : Allocate(var->name, *types[i]));
      }
      buffers_[var] = std::move(results);
    }
    return AddCall(*call, buffers_[var]);
  }

  Buffer Allocate(const std::string& name, const TensorTypeNode& type) {
    allocated_.push_back(MakeBuffer(name, type));
    return allocated_.back();
  }

  // A reshape copies here; where its consumer is computed element by element, it becomes a matter of indices.
  bool AddView(const CallNode& call, const VarNode& var) {
    if (call.op->name != "reshape") return false;
    const std::optional<Buffer> x = BufferOf(call.args[0]);
    const auto* type = dyn_cast<TensorTypeNode>(var.type);
    if (!x || type == nullptr || !type->shape) return false;
    if (!buffers_.contains(&var)) buffers_[&var] = {Allocate(var.name, *type)};
    FunctionBuilder f("reshape");
    const Buffer in = f.Input("x", (*x)->shape, (*x)->dtype);
    const Buffer out = ops::Reshape(f, in, names_.Of(*type->shape));
    written_.insert(buffers_[&var][0].get());
    return AddBody(f.Build({out}), {}, {{in, *x}, {out, buffers_[&var][0]}});
  }

  bool AddCall(const CallTirNode& call, const Buffers& results) {
    const PrimFunc callee = module_.FindProgram(call.function);
    no_alias_ &= callee->attrs.contains(kNoAlias);
    Buffers actual;
    for (const Value& arg : call.args) {
      const std::optional<Buffer> buffer = BufferOf(arg);
      if (!buffer) return false;
      actual.push_back(*buffer);
    }
    actual.insert(actual.end(), results.begin(), results.end());
    for (const Buffer& result : results) written_.insert(result.get());
    VarMap symbols;
    BufferMap map;
    for (size_t i = 0; i < callee->params.size(); ++i) {
      const Param& param = callee->params[i];
      if (i >= actual.size()) {
        symbols[param.var] = CastTo(param.var.dtype(), names_.Of(call.symbols[i - actual.size()]));
        continue;
      }
      map[param.buffer] = actual[i];
      for (size_t d = 0; d < param.buffer->shape.size(); ++d) {
        const auto* symbol = dyn_cast<SymbolNode>(param.buffer->shape[d]);
        if (symbol != nullptr) symbols.try_emplace(Symbol(symbol), CastTo(symbol->dtype(), actual[i]->shape[d]));
      }
    }
    return AddBody(callee, std::move(symbols), std::move(map));
  }

  bool AddBody(const PrimFunc& callee, VarMap symbols, BufferMap map) {
    const Stmt copy = CopyWithFreshNames(callee->body, &next_id_);
    const auto* realize = dyn_cast<BlockRealizeNode>(copy);
    if (realize == nullptr || !realize->block->iter_vars.empty() || realize->block->init) return false;
    for (const Buffer& buffer : realize->block->alloc_buffers) {
      BufferNode::Fields fields = buffer->fields();
      fields.shape = Substitute(fields.shape, symbols);
      fields.data = tilewright::Var(buffer->data.name(), buffer->data.dtype());
      allocated_.emplace_back(std::move(fields));
      map[buffer] = allocated_.back();
    }
    BlockRenamer renamer(&block_names_);
    body_.push_back(renamer.Mutate(Substitute(realize->block->body, symbols, map)));
    return true;
  }

  Composed Finish() {
    BlockNode::Fields root;
    root.id = next_id_++;
    root.name = "root";
    root.alloc_buffers = allocated_;
    root.body = Sequence(body_);
    tilewright::FunctionNode::Fields fields;
    fields.name = name_;
    fields.params = inputs_;
    fields.params.insert(fields.params.end(), weights_.begin(), weights_.end());
    fields.params.insert(fields.params.end(), outputs_.begin(), outputs_.end());
    fields.body = Stmt(new BlockRealizeNode({}, True(), Block(std::move(root))));
    fields.next_id = next_id_;
    if (no_alias_) fields.attrs[kNoAlias] = {True()};
    Composed composed{.constants = captured_, .names = names_.names()};
    composed.program = WithSymbolParams(PrimFunc(std::move(fields)), &composed.symbols);
    return composed;
  }

  using ItemsOfTuple = std::map<size_t, const VarNode*>;

  const GraphModule& module_;
  const std::string name_;
  const ExtentNames names_;
  uint32_t next_id_ = 1;
  bool no_alias_ = true;  // so far all programs say that their parameters do not overlap
  std::unordered_map<const VarNode*, Buffers> buffers_;
  std::unordered_map<const VarNode*, ItemsOfTuple> items_;  // which variables are fields of a tuple
  std::unordered_map<const ConstantNode*, Buffer> constants_;
  std::unordered_set<const BufferNode*> written_;
  std::vector<Param> inputs_, weights_, outputs_;
  std::vector<Buffer> allocated_;
  std::vector<Value> captured_;
  std::vector<Stmt> body_;
  std::set<std::string> block_names_ = {"root"};
};

// A function as one program.
struct Fused {
  Function function;
  Composed composed;
};

std::optional<Fused> FuseFunction(const GraphModule& module, const Function& function) {
  std::vector<Binding> bindings;
  for (const BindingBlock& block : function->body->blocks) {
    bindings.insert(bindings.end(), block.bindings.begin(), block.bindings.end());
  }
  const Value& result = function->body->result;
  std::vector<Value> fields = {result};
  if (const auto* tuple = dyn_cast<TupleNode>(result)) fields = tuple->fields;
  std::vector<Var> results;
  for (const Value& field : fields) {
    const auto* var = dyn_cast<VarNode>(field);
    if (var == nullptr) return std::nullopt;
    results.emplace_back(var);
  }
  std::optional<Composed> composed = ComposePrograms(module, function->name, function->params, bindings, results);
  if (!composed) return std::nullopt;
  return Fused{function, *std::move(composed)};
}

// Calls of fused functions become calls of their programs.
class CallReplacer : public Mutator {
 public:
  CallReplacer(BlockBuilder* builder, const std::map<std::string, Fused>* fused) : Mutator(builder), fused_(*fused) {}

 protected:
  absl::StatusOr<Value> MutateCallFunction(const CallFunctionNode* call, const Value& self) override {
    const auto it = fused_.find(call->function);
    if (it == fused_.end()) return self;
    const Fused& fused = it->second;
    TW_ASSIGN_OR_RETURN(Type out, TypeOfCallFunction(*call, fused.function));
    std::vector<Value> args = call->args;
    args.insert(args.end(), fused.composed.constants.begin(), fused.composed.constants.end());
    VarMap symbols;
    for (size_t i = 0; i < call->args.size(); ++i) {
      BindSymbols(fused.function->params[i]->type, TypeOf(call->args[i]), symbols);
    }
    return Value(CallTir(call->function, std::move(args), std::move(out), Substitute(fused.composed.symbols, symbols)));
  }

 private:
  const std::map<std::string, Fused>& fused_;
};

bool IsPrimitive(const Function& function) {
  const auto it = function->attrs.find("Primitive");
  if (!function->is_private || it == function->attrs.end()) return false;
  const AttrValue& value = it->second;
  return SameAttr(value, AttrValue(true)) || SameAttr(value, AttrValue(1));
}

}  // namespace

std::optional<Composed> ComposePrograms(const GraphModule& module, const std::string& name, std::span<const Var> params,
                                        std::span<const Binding> bindings, std::span<const Var> results) {
  return ProgramFuser(module, name, ExtentNames()).Run(params, bindings, results);
}

std::optional<Composed> ComposeWithNames(const GraphModule& module, const std::string& name,
                                         std::span<const Var> params, std::span<const Binding> bindings,
                                         std::span<const Var> results) {
  const ExtentNames names(params);
  std::optional<Composed> composed = ProgramFuser(module, name, names).Run(params, bindings, results);
  if (!composed || !names.Hide(composed->symbols)) return composed;
  return ComposePrograms(module, name, params, bindings, results);
}

absl::StatusOr<GraphModule> FusePrograms(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  std::map<std::string, Fused> fused;
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function || !IsPrimitive(entry.function)) continue;
    if (std::optional<Fused> program = FuseFunction(module, entry.function)) {
      builder.SetProgram(program->composed.program);
      fused.emplace(entry.name(), *std::move(program));
    }
  }
  CallReplacer replacer(&builder, &fused);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function || fused.contains(entry.name())) continue;
    TW_RETURN_IF_ERROR(replacer.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
