#include "graph/ir/structural.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "graph/ir/hash.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

// How many bytes at each end of a large constant its hash looks at.
constexpr int64_t kHashedBytes = 256;

uint64_t HashConstant(const ConstantNode& constant) {
  uint64_t hash = HashBytes(constant.dtype.ToString());
  for (int64_t extent : constant.shape) hash = MixHash(hash, static_cast<uint64_t>(extent));
  return MixHash(hash, HashBytes(constant.bytes.Ends(kHashedBytes)));
}

bool SameConstant(const ConstantNode& a, const ConstantNode& b) {
  if (&a == &b) return true;
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes.Same(b.bytes);
}

// Walks two values, or hashes one, with variables and symbols seen through Derived's
//   bool SameVar(const VarNode*, const VarNode*), bool SameExpr(const Expr&, const Expr&).
class Comparer {
 public:
  virtual ~Comparer() = default;

  bool Same(const Value& a, const Value& b) {
    if (!a || !b) return !a && !b;
    if (a->kind() != b->kind()) return Differ("kinds of values");
    switch (AsGraphKind(a->kind())) {
      case GraphKind::kVar:
        return SameVar(cast<VarNode>(a), cast<VarNode>(b)) ||
               Differ("variables ", cast<VarNode>(a)->name, " and ", cast<VarNode>(b)->name);
      case GraphKind::kConstant:
        return SameConstant(*cast<ConstantNode>(a), *cast<ConstantNode>(b)) || Differ("constants");
      case GraphKind::kTuple:
        return SameAll(cast<TupleNode>(a)->fields, cast<TupleNode>(b)->fields);
      case GraphKind::kShape:
        return SameExprs(cast<ShapeExprNode>(a)->values, cast<ShapeExprNode>(b)->values);
      case GraphKind::kTupleGetItem: {
        const auto *x = cast<TupleGetItemNode>(a), *y = cast<TupleGetItemNode>(b);
        return (x->index == y->index || Differ("fields ", x->index, " and ", y->index)) && Same(x->tuple, y->tuple);
      }
      case GraphKind::kCall: {
        const auto *x = cast<CallNode>(a), *y = cast<CallNode>(b);
        if (x->op->name != y->op->name) return Differ("operators ", x->op->name, " and ", y->op->name);
        return (SameAttrs(x->attrs, y->attrs) || Differ("attributes of ", x->op->name)) && SameAll(x->args, y->args);
      }
      case GraphKind::kCallTir: {
        const auto *x = cast<CallTirNode>(a), *y = cast<CallTirNode>(b);
        return (x->function == y->function || Differ("callees ", x->function, " and ", y->function)) &&
               SameAll(x->args, y->args) && SameTypes(x->out, y->out) && SameExprs(x->symbols, y->symbols);
      }
      case GraphKind::kCallFunction: {
        const auto *x = cast<CallFunctionNode>(a), *y = cast<CallFunctionNode>(b);
        return (x->function == y->function || Differ("callees ", x->function, " and ", y->function)) &&
               SameAll(x->args, y->args);
      }
      case GraphKind::kMatchCast: {
        const auto *x = cast<MatchCastNode>(a), *y = cast<MatchCastNode>(b);
        return Same(x->value, y->value) && SameTypes(x->type, y->type);
      }
      case GraphKind::kIf: {
        const auto *x = cast<IfNode>(a), *y = cast<IfNode>(b);
        return Same(x->condition, y->condition) && SameSeq(*x->then_branch, *y->then_branch) &&
               SameSeq(*x->else_branch, *y->else_branch);
      }
      default:
        return SameSeq(*cast<SeqNode>(a), *cast<SeqNode>(b));
    }
  }

  const std::string& why() const { return why_; }

 protected:
  virtual bool SameVar(const VarNode* a, const VarNode* b) = 0;
  virtual bool SameExpr(const Expr& a, const Expr& b) = 0;
  virtual bool SameSeq(const SeqNode& a, const SeqNode& b) = 0;

  template <class... Parts>
  bool Differ(const Parts&... parts) {
    if (why_.empty()) why_ = absl::StrCat("different ", parts...);
    return false;
  }

  bool SameAll(const std::vector<Value>& a, const std::vector<Value>& b) {
    if (a.size() != b.size()) return Differ("numbers of arguments");
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i])) return Differ("arguments ", i);
    }
    return true;
  }
  bool SameExprs(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    if (a.size() != b.size()) return Differ("numbers of extents");
    for (size_t i = 0; i < a.size(); ++i) {
      if (!SameExpr(a[i], b[i])) return Differ("expressions");
    }
    return true;
  }
  bool SameTypes(const Type& a, const Type& b) {
    if (!a || !b) return !a && !b;
    if (a->kind() != b->kind()) return Differ("kinds of types");
    if (const auto* x = dyn_cast<TensorTypeNode>(a)) {
      const auto* y = cast<TensorTypeNode>(b);
      if (x->dtype != y->dtype || x->rank() != y->rank()) return Differ("types ", ToString(a), " and ", ToString(b));
      return !x->shape || SameExprs(*x->shape, *y->shape) || Differ("types ", ToString(a), " and ", ToString(b));
    }
    if (const auto* x = dyn_cast<TupleTypeNode>(a)) {
      const auto* y = cast<TupleTypeNode>(b);
      if (x->fields.size() != y->fields.size()) return Differ("sizes of tuples");
      for (size_t i = 0; i < x->fields.size(); ++i) {
        if (!SameTypes(x->fields[i], y->fields[i])) return false;
      }
      return true;
    }
    return SameExprs(cast<ShapeTypeNode>(a)->values, cast<ShapeTypeNode>(b)->values);
  }

 private:
  std::string why_;
};

class IdentityComparer : public Comparer {
 protected:
  bool SameVar(const VarNode* a, const VarNode* b) override { return a == b; }
  bool SameExpr(const Expr& a, const Expr& b) override { return tilewright::StructuralEqual(a, b); }
  bool SameSeq(const SeqNode& a, const SeqNode& b) override { return &a == &b; }
};

class RenamingComparer : public Comparer {
 public:
  bool SameFunction(const FunctionNode& a, const FunctionNode& b) {
    if (a.is_private != b.is_private || !SameAttrs(a.attrs, b.attrs)) return Differ("attributes of the function");
    if (a.params.size() != b.params.size()) return Differ("numbers of parameters");
    for (size_t i = 0; i < a.params.size(); ++i) {
      if (!Define(a.params[i], b.params[i])) return Differ("parameters ", i);
    }
    return SameSeq(*a.body, *b.body) && SameTypes(a.result_type, b.result_type);
  }

 protected:
  bool SameVar(const VarNode* a, const VarNode* b) override {
    const auto it = vars_.find(a);
    return it != vars_.end() && it->second == b;
  }

  // Symbols correspond by where they first occur.
  bool SameExpr(const Expr& a, const Expr& b) override {
    const std::vector<Symbol> from = FreeSymbols(std::vector<Expr>{a}), to = FreeSymbols(std::vector<Expr>{b});
    if (from.size() != to.size()) return false;
    for (size_t i = 0; i < from.size(); ++i) {
      const auto forth = symbols_.try_emplace(from[i], to[i]).first;
      const auto back = inverse_.try_emplace(to[i], from[i]).first;
      if (forth->second.get() != static_cast<Expr>(to[i]).get() || !back->second.same_as(from[i])) return false;
    }
    return tilewright::StructuralEqual(Substitute(a, symbols_), b);
  }

  bool SameSeq(const SeqNode& a, const SeqNode& b) override {
    if (a.blocks.size() != b.blocks.size()) return Differ("numbers of binding blocks");
    for (size_t i = 0; i < a.blocks.size(); ++i) {
      if (!SameBlock(a.blocks[i], b.blocks[i])) return false;
    }
    return Same(a.result, b.result) && (SameExprs(a.guards, b.guards) || Differ("guards"));
  }

 private:
  bool Define(const Var& a, const Var& b) {
    vars_[a.get()] = b.get();
    return SameTypes(a->type, b->type);
  }

  bool SameBlock(const BindingBlock& a, const BindingBlock& b) {
    if (a.dataflow != b.dataflow || a.bindings.size() != b.bindings.size()) return Differ("binding blocks");
    for (size_t i = 0; i < a.bindings.size(); ++i) {
      const Binding &x = a.bindings[i], &y = b.bindings[i];
      if (!Same(x.value, y.value) || !Define(x.var, y.var)) {
        return Differ("bindings of ", x.var->name, " and ", y.var->name);
      }
    }
    return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                      [&](const Var& x, const Var& y) { return SameVar(x.get(), y.get()); }) ||
           Differ("outputs of a dataflow block");
  }

  std::unordered_map<const VarNode*, const VarNode*> vars_;
  VarMap symbols_;
  std::unordered_map<Symbol, Symbol, IdentityHash, IdentityEqual> inverse_;
};

// Hashes values; variables by number of definition, or by identity where they are not defined inside.
class Hasher {
 public:
  explicit Hasher(bool by_identity) : by_identity_(by_identity) {}

  void Visit(const Value& value) {
    if (!value) return Mix(5);
    Mix(static_cast<uint64_t>(value->kind()));
    switch (AsGraphKind(value->kind())) {
      case GraphKind::kVar:
        return Use(cast<VarNode>(value));
      case GraphKind::kConstant:
        return Mix(HashConstant(*cast<ConstantNode>(value)));
      case GraphKind::kTuple:
        return VisitAll(cast<TupleNode>(value)->fields);
      case GraphKind::kShape:
        return VisitExprs(cast<ShapeExprNode>(value)->values);
      case GraphKind::kTupleGetItem:
        Mix(static_cast<uint64_t>(cast<TupleGetItemNode>(value)->index));
        return Visit(cast<TupleGetItemNode>(value)->tuple);
      case GraphKind::kCall:
        Mix(HashBytes(cast<CallNode>(value)->op->name));
        Mix(HashAttrs(cast<CallNode>(value)->attrs));
        return VisitAll(cast<CallNode>(value)->args);
      case GraphKind::kCallTir:
        return VisitCallTir(*cast<CallTirNode>(value));
      case GraphKind::kCallFunction:
        Mix(HashBytes(cast<CallFunctionNode>(value)->function));
        return VisitAll(cast<CallFunctionNode>(value)->args);
      case GraphKind::kMatchCast:
        Visit(cast<MatchCastNode>(value)->value);
        return VisitType(cast<MatchCastNode>(value)->type);
      case GraphKind::kIf:
        Visit(cast<IfNode>(value)->condition);
        VisitSeq(*cast<IfNode>(value)->then_branch);
        return VisitSeq(*cast<IfNode>(value)->else_branch);
      default:
        return VisitSeq(*cast<SeqNode>(value));
    }
  }

  void VisitFunction(const FunctionNode& f) {
    Mix(HashAttrs(f.attrs));
    Mix(f.is_private ? 1 : 0);
    for (const Var& param : f.params) Define(param);
    VisitSeq(*f.body);
    VisitType(f.result_type);
  }

  uint64_t value() const { return hash_; }

 private:
  void Mix(uint64_t value) { hash_ = MixHash(hash_, value); }

  void Use(const VarNode* var) {
    if (by_identity_) return Mix(reinterpret_cast<uintptr_t>(var));
    const auto it = numbers_.find(var);
    Mix(it == numbers_.end() ? 0 : it->second);
  }

  void Define(const Var& var) {
    numbers_.emplace(var.get(), numbers_.size() + 1);
    VisitType(var->type);
  }

  void VisitAll(const std::vector<Value>& values) {
    Mix(values.size());
    for (const Value& value : values) Visit(value);
  }

  void VisitExprs(const std::vector<Expr>& exprs) {
    Mix(exprs.size());
    for (const Expr& e : exprs) {
      Mix(tilewright::StructuralHash(e, /*map_free=*/true));
      for (const Symbol& symbol : FreeSymbols(std::vector<Expr>{e})) {
        Mix(by_identity_ ? reinterpret_cast<uintptr_t>(symbol.get())
                         : symbols_.try_emplace(symbol.get(), symbols_.size() + 1).first->second);
      }
    }
  }

  void VisitType(const Type& type) {
    if (!type) return Mix(7);
    Mix(static_cast<uint64_t>(type->kind()));
    if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) {
      Mix(HashBytes(tensor->dtype.ToString()));
      if (tensor->shape) VisitExprs(*tensor->shape);
    } else if (const auto* tuple = dyn_cast<TupleTypeNode>(type)) {
      for (const Type& field : tuple->fields) VisitType(field);
    } else {
      VisitExprs(cast<ShapeTypeNode>(type)->values);
    }
  }

  void VisitCallTir(const CallTirNode& call) {
    Mix(HashBytes(call.function));
    VisitAll(call.args);
    VisitType(call.out);
    VisitExprs(call.symbols);
  }

  void VisitSeq(const SeqNode& seq) {
    if (by_identity_) return Mix(reinterpret_cast<uintptr_t>(&seq));
    for (const BindingBlock& block : seq.blocks) {
      Mix(block.dataflow ? 2 : 3);
      for (const Binding& binding : block.bindings) {
        Visit(binding.value);
        Define(binding.var);
      }
      for (const Var& output : block.outputs) Use(output.get());
    }
    Visit(seq.result);
    VisitExprs(seq.guards);
  }

  const bool by_identity_;
  uint64_t hash_ = 0;
  std::unordered_map<const VarNode*, uint64_t> numbers_;
  std::unordered_map<const SymbolNode*, uint64_t> symbols_;
};

bool Fail(std::string* why, std::string text) {
  if (why != nullptr) *why = std::move(text);
  return false;
}

}  // namespace

bool SameValue(const Value& a, const Value& b) { return IdentityComparer().Same(a, b); }

uint64_t HashValue(const Value& value) {
  Hasher hasher(/*by_identity=*/true);
  hasher.Visit(value);
  return hasher.value();
}

bool StructuralEqual(const Function& a, const Function& b, std::string* why) {
  RenamingComparer comparer;
  if (comparer.SameFunction(*a, *b)) return true;
  return Fail(why, comparer.why());
}

bool StructuralEqual(const GraphModule& a, const GraphModule& b, std::string* why) {
  if (!SameAttrs(a.attrs(), b.attrs())) return Fail(why, "different attributes of the modules");
  for (const ModuleEntry& entry : b.entries()) {
    if (!a.Contains(entry.name())) return Fail(why, absl::StrCat("only the second module has ", entry.name()));
  }
  for (const ModuleEntry& entry : a.entries()) {
    const std::string& name = entry.name();
    if (!b.Contains(name)) return Fail(why, absl::StrCat("only the first module has ", name));
    const Function function = b.FindFunction(name);
    const PrimFunc program = b.FindProgram(name);
    if (static_cast<bool>(entry.function) != static_cast<bool>(function)) {
      return Fail(why, absl::StrCat(name, " is a graph function in one module and a program in the other"));
    }
    std::string inner;
    if (function ? !StructuralEqual(entry.function, function, &inner)
                 : !tilewright::StructuralEqual(entry.program, program)) {
      return Fail(why, absl::StrCat(name, ": ", function ? inner : "different programs"));
    }
  }
  return true;
}

uint64_t StructuralHash(const Function& function) {
  Hasher hasher(/*by_identity=*/false);
  hasher.VisitFunction(*function);
  return hasher.value();
}

}  // namespace tilewright::graph
