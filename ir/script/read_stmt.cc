// Statements other than blocks.
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/annotations.h"
#include "ir/script/reader.h"
#include "ir/script/region_arithmetic.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;
using StmtKind = PyStmt::Kind;

// Whether the name stands anywhere in the expression.
bool Mentions(const PyExpr& e, std::string_view name) {
  if (e.kind == Kind::kName && e.text == name) return true;
  for (const auto* items : {&e.items, &e.keyword_values}) {
    for (const PyExprPtr& item : *items) {
      if (item && Mentions(*item, name)) return true;
    }
  }
  return false;
}

}  // namespace

bool FunctionReader::ReadStmt(const PyStmt& s, Segments& out) {
  if (nesting_ >= kMaxNesting) {
    return Fail(s.offset, absl::StrCat("statements nested more than ", kMaxNesting, " deep"));
  }
  switch (s.kind) {
    case StmtKind::kPass:
    case StmtKind::kImport:
      return true;
    case StmtKind::kExpr:
      return ReadExprStmt(s, out);
    case StmtKind::kAssign:
      return ReadAssign(s, out);
    case StmtKind::kAnnotate:
      return ReadAnnotated(s, out);
    case StmtKind::kAugment: {
      const Value* known = s.target->kind == Kind::kName ? Lookup(s.target->text) : nullptr;
      if (known != nullptr && known->As<Cell>() != nullptr && s.value) {
        return AssignCell(s, Cell(*known->As<Cell>()), out);
      }
      return ReadStore(s, out);
    }
    case StmtKind::kFor:
      return ReadFor(s, out);
    case StmtKind::kWith:
      return ReadWith(s, out);
    case StmtKind::kIf:
      return ReadIf(s, out);
    case StmtKind::kWhile:
      return ReadWhile(s, out);
    case StmtKind::kAssert:
      return ReadAssert(s, out);
    case StmtKind::kReturn:
      return ReadReturn(s, out);
    case StmtKind::kBreak:
      out.back().stmts.push_back(Evaluate(Call(DataType::Void(), absl::StrCat(s.text, "_loop"), {})));
      return true;
    case StmtKind::kFunction:
    case StmtKind::kClass:
      return Fail(s.offset, "expected a statement, found a definition");
    case StmtKind::kOther:
      if (!error_) error_ = *s.problem;
      return false;
  }
  return false;
}

bool FunctionReader::ReadFuncAttr(const PyExpr& e) {
  if (!blocks_.empty() || has_attrs_) {
    return Fail(e.offset, "T.func_attr stands once, at the beginning of the function");
  }
  has_attrs_ = true;
  Arguments args;
  if (!Bind(e, {"attrs"}, &args) || !Require(e, args, "attrs")) return false;
  if (!ReadAnnotations(*args["attrs"], &function_.attrs)) return false;
  // The function's own name says it already.
  if (auto it = function_.attrs.find(kGlobalSymbol); it != function_.attrs.end()) {
    const auto* value = std::get_if<Expr>(&it->second.value);
    const auto* symbol = value == nullptr ? nullptr : dyn_cast<StringImmNode>(*value);
    if (symbol != nullptr && symbol->value == function_.name) function_.attrs.erase(it);
  }
  return true;
}

bool FunctionReader::ReadExprStmt(const PyStmt& s, Segments& out) {
  const PyExpr& e = *s.value;
  const auto name = CalledName(e);
  if (!name) {
    if (e.kind == Kind::kCall) {
      if (e.items[0]->kind == Kind::kAttribute && e.items[0]->text == "vstore") return ReadVectorStore(e, out);
      Expr value = ReadExpr(e);
      if (!value) return false;
      out.back().stmts.push_back(Evaluate(std::move(value)));
      return true;
    }
    return Fail(e.offset, "expected a statement; an expression alone does nothing");
  }
  if (IsNamelessSize(e)) return true;
  if (*name == "func_attr") return ReadFuncAttr(e);
  bool ok = false;
  if (ReadDirective(e, *name, &ok)) return ok;
  if (IsCovering(*name) && (*name != "let" || e.items.size() == 3)) {
    Segment segment;
    if (!ReadCovering(e, *name, nullptr, &segment.wrap)) return false;
    out.push_back(std::move(segment));
    return true;
  }
  Stmt sync;
  if (!ReadSync(e, *name, &sync)) return false;
  if (sync) {
    out.back().stmts.push_back(std::move(sync));
    return true;
  }
  if (*name == "store") return ReadFlatStore(e, out);
  Expr value;
  if (*name == "evaluate") {
    Arguments args;
    if (!Bind(e, {"value"}, &args) || !Require(e, args, "value")) return false;
    if (const auto inner = CalledName(*args["value"])) {  // T.evaluate(T.tvm_storage_sync("shared"))
      if (!ReadSync(*args["value"], *inner, &sync)) return false;
      if (sync) {
        out.back().stmts.push_back(std::move(sync));
        return true;
      }
    }
    value = ReadExpr(*args["value"]);
  } else {
    value = ReadExpr(e);
  }
  if (!value) return false;
  out.back().stmts.push_back(Evaluate(std::move(value)));
  return true;
}

// T.int64() without a name: a variable that nothing can use.
bool FunctionReader::IsNamelessSize(const PyExpr& e) const {
  const auto dtype = SizeType(e);
  return dtype && e.items.size() == 1 && !dtype->is_void();
}

bool FunctionReader::ReadEnvThread(const PyExpr& value, const PyExpr& target, const Value* known) {
  Arguments args;
  std::string tag;
  if (!Bind(value, {"thread_tag"}, &args) || !Require(value, args, "thread_tag")) return false;
  if (!ReadString(*args["thread_tag"], &tag)) return false;
  // TVM 0.9 and 0.10 print the line once for each block that was tensorized.
  const EnvThread* same = known == nullptr ? nullptr : known->As<EnvThread>();
  if (same != nullptr && same->tag == tag) return true;
  return Define(target.text, target.offset, Value{EnvThread{tag}});
}

bool FunctionReader::ReadAssign(const PyStmt& s, Segments& out) {
  if (!s.value) return false;
  if (!s.more_targets.empty()) return Fail(s.offset, "write one assignment for each name");
  const PyExpr& target = *s.target;
  const PyExpr& value = *s.value;
  if (target.kind == Kind::kSubscript) return ReadStore(s, out);
  if (target.kind == Kind::kTuple && value.kind == Kind::kTuple) return ReadTupleAssign(s, out);
  const auto name = CalledName(value);
  if (name && absl::StartsWith(*name, "axis.")) return ReadAxis(value, *name, target);
  if (target.kind != Kind::kName) {
    return Fail(target.offset, "expected a name or an element of a buffer on the left of '='");
  }
  const Value* known = Lookup(target.text);
  if (known != nullptr && known->As<Cell>() != nullptr) return AssignCell(s, Cell(*known->As<Cell>()), out);
  std::string cell_call;
  if (IsCellCall(value, &cell_call)) return ReadCellCall(s, cell_call, out);
  if (IsForwardBuffer(target.text, value)) {
    return Define(target.text, target.offset, Value{Expr(Symbol(target.text, DataType::Handle(), target.offset))});
  }
  if (name) {
    if (*name == "match_buffer") return ReadMatchBuffer(value, target);
    if (*name == "alloc_buffer" || *name == "sblock_alloc_buffer" || *name == "alloc_shared" ||
        *name == "alloc_local") {
      return ReadAllocBuffer(value, *name, target, out);
    }
    if (*name == "env_thread") return ReadEnvThread(value, target, known);
    if (IsCovering(*name) && *name != "let") {
      Segment segment;
      if (!ReadCovering(value, *name, &target, &segment.wrap)) return false;
      out.push_back(std::move(segment));
      return true;
    }
    if (const auto dtype = SizeType(value)) {  // n = T.int32(): a size that a buffer defines
      if (const Value* symbol = Lookup(target.text)) {
        // Used before, in the shape of a parameter.
        const Expr* size = symbol->As<Expr>();
        if (size != nullptr && isa<VarNode>(*size) && symbols_.contains(target.text) && !IsTaken(*symbol)) return true;
      }
      return Define(target.text, target.offset, Value{Expr(Symbol(target.text, *dtype, target.offset))});
    }
    if (*name == "meta_var") {
      Arguments args;
      Value alias;
      if (!Bind(value, {"value"}, &args) || !Require(value, args, "value")) return false;
      return Eval(*args["value"], &alias) && Define(target.text, target.offset, std::move(alias));
    }
  }
  if (value.kind == Kind::kCall && value.items[0]->kind == Kind::kAttribute && value.items[0]->text == "view" &&
      !name) {
    return ReadView(value, target, out);
  }
  Value evaluated;
  if (!Eval(value, &evaluated)) return false;
  if (evaluated.As<Expr>() == nullptr) return Define(target.text, target.offset, std::move(evaluated));
  Expr expr = *evaluated.As<Expr>();
  Var var = TakeAnnounced(target.text, expr.dtype());
  OpenLet(var, expr, out);
  return Define(target.text, target.offset, Value{Expr(var)});
}

void FunctionReader::OpenLet(Var var, Expr value, Segments& out) {
  Segment segment;
  segment.wrap = [var, value](Stmt body) { return LetStmt(var, value, std::move(body)); };
  out.push_back(std::move(segment));
  ++nesting_;
}

// n, m = T.int64(), T.int64(): one after the other, so no value may use a name from the left.
bool FunctionReader::ReadTupleAssign(const PyStmt& s, Segments& out) {
  const PyExpr& target = *s.target;
  const PyExpr& value = *s.value;
  if (target.items.size() != value.items.size()) {
    return Fail(target.offset, absl::StrCat(target.items.size(), " names for ", value.items.size(), " values"));
  }
  for (size_t i = 0; i < target.items.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (target.items[j]->kind != Kind::kName || Mentions(*value.items[i], target.items[j]->text)) {
        return Fail(value.items[i]->offset,
                    "this value may depend on the assignments before it; write them one by one");
      }
    }
    PyStmt single = s;
    single.target = target.items[i];
    single.value = value.items[i];
    if (!ReadAssign(single, out)) return false;
  }
  return true;
}

// `return` at the end of a function says nothing; elsewhere, and with a value, it is a call.
bool FunctionReader::ReadReturn(const PyStmt& s, Segments& out) {
  if (!s.value && nesting_ == 0) return true;
  if (!s.value) {
    out.back().stmts.push_back(Evaluate(Call(DataType::Void(), "thread_return", {})));
    return true;
  }
  Expr value = ReadExpr(*s.value);
  if (!value) return false;
  const DataType type = value.dtype();
  out.back().stmts.push_back(Evaluate(Call(type, "ret", {std::move(value)})));
  return true;
}

// x: T.int32 = value
bool FunctionReader::ReadAnnotated(const PyStmt& s, Segments& out) {
  if (s.target->kind != Kind::kName) return Fail(s.target->offset, "expected a name");
  const PyExpr* annotation = s.annotation.get();
  const bool subscript = annotation->kind == Kind::kSubscript && annotation->items.size() == 2;
  const bool pointer = subscript && DialectName(*annotation->items[0]) == "Ptr";  // x: T.Ptr[T.float32] = value
  const bool let = subscript || DialectName(*annotation) == "let";                // x: T.let[T.int32] = value
  if (subscript && !pointer) annotation = annotation->items[1].get();
  const bool typed = DialectName(*annotation) != "let";
  DataType dtype = DataType::Handle();
  if (typed && !pointer && !ReadTypeName(*annotation, &dtype)) return false;
  const std::string& name = s.target->text;
  const Value* known = Lookup(name);
  const bool is_new = known == nullptr || known->As<Cell>() == nullptr;
  if (!let && is_new && !dtype.is_handle() &&
      (!s.value ||
       Assigns(*places_.back().first, places_.back().second + 1, name))) {  // a variable: it gets other values
    if (!MakeCell(name, dtype, "local", s.target->offset, out)) return false;
    return !s.value || AssignCell(s, Cell(*Lookup(name)->As<Cell>()), out);
  }
  if (!s.value) return Fail(s.offset, "expected '= value'");
  Expr value = ReadExpr(*s.value);
  if (!value) return false;
  if (typed && value.dtype() != dtype) {
    const bool number = value.dtype().lanes() == dtype.lanes();
    if (!number) {
      return Fail(s.value->offset, absl::StrCat("'", s.target->text, "' has type ", dtype.ToString(),
                                                ", the value has type ", value.dtype().ToString()));
    }
    if (!ConvertStored(&value, dtype, s.value->offset)) return false;
  }
  Var var = TakeAnnounced(name, value.dtype());
  OpenLet(var, value, out);
  return Define(s.target->text, s.target->offset, Value{Expr(var)});
}

// A[i, j] = value and A[i, j] += value
bool FunctionReader::ReadStore(const PyStmt& s, Segments& out) {
  if (!s.value) return false;
  const PyExpr& target = *s.target;
  if (target.kind != Kind::kSubscript) {
    return Fail(target.offset, "expected an element of a buffer on the left of an assignment");
  }
  Value base;
  if (!Eval(*target.items[0], &base)) return false;
  const Buffer* buffer = base.As<Buffer>();
  if (buffer == nullptr) return Fail(target.offset, "expected a buffer before '['");
  std::vector<Expr> indices;
  if (!ReadIndices(target, *buffer, &indices)) return false;
  Expr value = ReadExpr(*s.value);
  if (!value) return false;
  Expr current = buffer->Load(indices);
  if (s.kind == StmtKind::kAugment) {
    value = MakeOperator(s.text, current, std::move(value), s.value->offset);
    if (!value) return false;
  }
  return StoreTo(*buffer, std::move(indices), std::move(value), Expr(), s.value->offset, out);
}

bool FunctionReader::StoreTo(const Buffer& buffer, std::vector<Expr> indices, Expr value, Expr predicate,
                             uint32_t offset, Segments& out) {
  const DataType type = buffer.Load(indices).dtype();
  if (!ConvertStored(&value, type.element(), offset)) return false;
  if (value.dtype().is_scalar() && type.lanes() > 1) value = Broadcast(std::move(value), type.lanes());
  if (value.dtype() != type) {
    return Fail(offset,
                absl::StrCat("buffer '", buffer->name, "' holds ", type.ToString(), ", the value is ",
                             value.dtype().ToString(), "; convert it with T.cast(value, \"", type.ToString(), "\")"));
  }
  out.back().stmts.push_back(Store(buffer, std::move(value), std::move(indices), std::move(predicate)));
  return true;
}

// A.vstore([T.Ramp(0, 1, 4)], value, predicate=mask)
bool FunctionReader::ReadVectorStore(const PyExpr& call, Segments& out) {
  Value base;
  Arguments args;
  if (!Eval(*call.items[0]->items[0], &base)) return false;
  const auto* buffer = base.As<Buffer>();
  if (buffer == nullptr) return Fail(call.offset, "expected a buffer before '.vstore'");
  if (!Bind(call, {"indices", "value", "predicate"}, &args) || !Require(call, args, "indices") ||
      !Require(call, args, "value")) {
    return false;
  }
  std::vector<Expr> indices;
  Expr predicate;
  if (!ReadVectorAccess(*buffer, *args["indices"], args["predicate"], &indices, &predicate)) return false;
  Expr value = ReadExpr(*args["value"]);
  return value &&
         StoreTo(*buffer, std::move(indices), std::move(value), std::move(predicate), args["value"]->offset, out);
}

bool FunctionReader::ReadIf(const PyStmt& s, Segments& out) {
  Expr condition = ReadCondition(*s.value);
  if (!condition) return false;
  ++nesting_;
  Stmt then_case = ReadBody(s.body);
  if (!then_case) return false;
  Stmt else_case;
  if (!s.else_body.empty() && !(else_case = ReadBody(s.else_body))) return false;
  --nesting_;
  out.back().stmts.push_back(If(std::move(condition), std::move(then_case), std::move(else_case)));
  return true;
}

bool FunctionReader::ReadWhile(const PyStmt& s, Segments& out) {
  Expr condition = ReadCondition(*s.value);
  if (!condition) return false;
  ++nesting_;
  Stmt body = ReadBody(s.body);
  --nesting_;
  if (!body) return false;
  out.back().stmts.push_back(While(std::move(condition), std::move(body)));
  return true;
}

bool FunctionReader::ReadAssert(const PyStmt& s, Segments& out) {
  Expr condition = ReadCondition(*s.value);
  if (!condition) return false;
  std::string message;
  if (s.annotation) {
    // TVM writes ("RuntimeError", ["part", "part"]) too.
    const PyExpr& given = *s.annotation;
    const bool parts = given.kind == Kind::kTuple && given.items.size() == 2 && given.items[1]->kind == Kind::kList;
    for (size_t i = 0; i < (parts ? given.items[1]->items.size() : 1); ++i) {
      std::string text;
      if (!ReadString(parts ? *given.items[1]->items[i] : given, &text)) return false;
      message += text;
    }
  }
  out.back().stmts.push_back(Stmt(new AssertNode(std::move(condition), std::move(message))));
  return true;
}

}  // namespace tilewright::script
