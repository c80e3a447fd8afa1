// Statements other than blocks.
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// Loops, blocks, lets, ... inside each other. Whoever walks the program may recurse.
// TVM's common subexpressions are some hundred lets.
constexpr int kMaxNesting = 1000;

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
  }
  return false;
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
  if (*name == "func_attr") {
    if (!blocks_.empty() || has_attrs_) {
      return Fail(e.offset, "T.func_attr stands once, at the beginning of the function");
    }
    has_attrs_ = true;
    Arguments args;
    if (!Bind(e, {"attrs"}, &args) || !Require(e, args, "attrs")) return false;
    if (!ReadAnnotations(*args["attrs"], &function_.attrs)) return false;
    // The function's own name says it already.
    if (auto it = function_.attrs.find("global_symbol"); it != function_.attrs.end()) {
      const auto* value = std::get_if<Expr>(&it->second.value);
      const auto* symbol = value == nullptr ? nullptr : dyn_cast<StringImmNode>(*value);
      if (symbol != nullptr && symbol->value == function_.name) function_.attrs.erase(it);
    }
    return true;
  }
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

bool FunctionReader::ReadAssign(const PyStmt& s, Segments& out) {
  if (!s.value) return false;
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
    if (*name == "env_thread") {
      Arguments args;
      std::string tag;
      if (!Bind(value, {"thread_tag"}, &args) || !Require(value, args, "thread_tag")) return false;
      return ReadString(*args["thread_tag"], &tag) && Define(target.text, target.offset, Value{EnvThread{tag}});
    }
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
    const bool immediate = isa<IntImmNode>(value) || isa<FloatImmNode>(value);
    if (!immediate) {
      return Fail(s.value->offset, absl::StrCat("'", s.target->text, "' has type ", dtype.ToString(),
                                                ", the value has type ", value.dtype().ToString()));
    }
    if (!ConvertImmediate(&value, dtype, s.value->offset)) return false;
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
  if (isa<IntImmNode>(value) || isa<FloatImmNode>(value)) {
    if (!ConvertImmediate(&value, type.element(), offset)) return false;
  }
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

bool FunctionReader::ReadFor(const PyStmt& s, Segments& out) {
  std::vector<const PyExpr*> targets;
  if (s.target->kind == Kind::kTuple || s.target->kind == Kind::kList) {
    for (const PyExprPtr& item : s.target->items) targets.push_back(item.get());
  } else {
    targets.push_back(s.target.get());
  }
  for (const PyExpr* target : targets) {
    if (target->kind != Kind::kName) return Fail(target->offset, "expected the name of a loop variable");
  }
  if (!s.value) return false;
  std::vector<ForNode::Fields> loops;
  if (!ReadLoops(*s.value, targets.size(), &loops)) return false;
  nesting_ += static_cast<int>(loops.size());
  if (nesting_ > kMaxNesting) return Fail(s.offset, absl::StrCat("loops nested more than ", kMaxNesting, " deep"));
  frames_.emplace_back();
  bool ok = true;
  for (size_t i = 0; ok && i < loops.size(); ++i) {
    loops[i].var = TakeAnnounced(targets[i]->text, loops[i].extent.dtype());
    loop_ranges_[loops[i].var.get()] = {loops[i].min, loops[i].extent};
    ok = Define(targets[i]->text, targets[i]->offset, Value{Expr(loops[i].var)});
  }
  Stmt body = ok ? ReadBody(s.body) : Stmt();
  LeaveFrame();
  nesting_ -= static_cast<int>(loops.size());
  if (!body) return false;
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = std::move(body);
    body = For(std::move(loops[i]));
  }
  out.back().stmts.push_back(std::move(body));
  return true;
}

bool FunctionReader::ReadLoops(const PyExpr& iterator, size_t count, std::vector<ForNode::Fields>* loops) {
  std::optional<std::string> name = CalledName(iterator);
  if (!name && iterator.kind == Kind::kCall && iterator.items[0]->kind == Kind::kName &&
      iterator.items[0]->text == "range") {
    name = "serial";
  }
  if (name == "grid") {
    if (!iterator.keywords.empty()) return Fail(iterator.keyword_offsets[0], "T.grid has no keyword arguments");
    if (iterator.items.size() - 1 != count) {
      return Fail(iterator.offset,
                  absl::StrCat("T.grid has ", iterator.items.size() - 1, " extents for ", count, " loop variables"));
    }
    for (size_t i = 0; i < count; ++i) {
      const PyExpr* stop = iterator.items[i + 1].get();
      const PyExpr* start = nullptr;
      if (stop->kind == Kind::kTuple && stop->items.size() == 2) {
        start = stop->items[0].get();
        stop = stop->items[1].get();
      }
      ForNode::Fields loop;
      if (!ReadLoopRange(iterator, "serial", start, stop, &loop)) return false;
      loops->push_back(std::move(loop));
    }
    return true;
  }
  static constexpr std::pair<std::string_view, ForKind> kKinds[] = {{"serial", ForKind::kSerial},
                                                                    {"parallel", ForKind::kParallel},
                                                                    {"vectorized", ForKind::kVectorized},
                                                                    {"unroll", ForKind::kUnrolled},
                                                                    {"thread_binding", ForKind::kThreadBound}};
  for (const auto& [kind_name, kind] : kKinds) {
    if (name != std::string(kind_name)) continue;
    if (count != 1) return Fail(iterator.offset, absl::StrCat("one loop for ", count, " loop variables"));
    Arguments args;
    ForNode::Fields loop;
    loop.kind = kind;
    const bool thread = kind == ForKind::kThreadBound;
    // T.thread_binding(64, "threadIdx.x") and T.thread_binding(0, 64, "threadIdx.x") are both written.
    const bool short_form = thread && iterator.items.size() == 3 && iterator.items[2]->kind == Kind::kString;
    const bool bound = short_form ? Bind(iterator, {"start", "thread", "annotations"}, &args)
                       : thread   ? Bind(iterator, {"start", "stop", "thread", "annotations"}, &args)
                                  : Bind(iterator, {"start", "stop", "annotations"}, &args);
    if (!bound || !Require(iterator, args, "start")) return false;
    const PyExpr* start = args["start"];
    const PyExpr* stop = args["stop"];
    if (stop == nullptr) std::swap(start, stop);
    if (!ReadLoopRange(iterator, kind_name, start, stop, &loop)) return false;
    if (thread) {
      if (!Require(iterator, args, "thread") || !ReadString(*args["thread"], &loop.thread_tag)) return false;
    }
    if (args["annotations"] != nullptr && !ReadAnnotations(*args["annotations"], &loop.annotations)) return false;
    loops->push_back(std::move(loop));
    return true;
  }
  return Fail(iterator.offset,
              "expected range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding after 'in'");
}

bool FunctionReader::ReadLoopRange(const PyExpr& iterator, std::string_view kind, const PyExpr* start,
                                   const PyExpr* stop, ForNode::Fields* loop) {
  Expr last = ReadIndex(*stop);
  Expr first = start == nullptr ? Expr() : ReadIndex(*start);
  if (!last || (start != nullptr && !first)) return false;
  if (!first) first = Const(last.dtype(), 0);
  if (!first.dtype().is_scalar() || !last.dtype().is_scalar()) {
    return Fail(iterator.offset,
                absl::StrCat("the extent of a ", absl::string_view(kind.data(), kind.size()), " loop is a scalar"));
  }
  if (!Unify(&first, &last, iterator.offset)) return false;
  loop->extent = IntervalExtent(first, last);
  loop->min = std::move(first);
  return true;
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
