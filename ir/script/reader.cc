#include "ir/script/reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/script/free_vars.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

bool ContainsBlock(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& stmt) {
    found = found || isa<BlockRealizeNode>(stmt);
    return !found;
  });
  return found;
}

}  // namespace

const PyExpr* Arguments::operator[](std::string_view name) const {
  for (const auto& [given, value] : given_) {
    if (given == name) return value;
  }
  return nullptr;
}

bool FunctionReader::Fail(uint32_t offset, std::string message) {
  if (!error_) error_ = MakeDiagnostic(module_.text, module_.file, offset, std::move(message));
  return false;
}

bool FunctionReader::Define(const std::string& name, uint32_t offset, Value value) {
  if (module_.dialect_names.contains(name)) return Fail(offset, absl::StrCat("'", name, "' names the dialect"));
  auto [known, fresh] = frames_.back().try_emplace(name, value);
  if (!fresh && IsTaken(known->second)) {
    known->second = std::move(value);
  } else if (!fresh) {
    return Fail(offset, absl::StrCat("'", name, "' is already defined here"));
  }
  return true;
}

const Value* FunctionReader::Lookup(const std::string& name) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (auto it = frame->find(name); it != frame->end()) return &it->second;
  }
  auto it = module_.constants.find(name);
  return it == module_.constants.end() ? nullptr : &it->second;
}

std::optional<std::string> FunctionReader::DialectName(const PyExpr& e) const {
  if (e.kind != Kind::kAttribute) return std::nullopt;
  const PyExpr& base = *e.items[0];
  if (base.kind == Kind::kName && module_.dialect_names.contains(base.text)) return e.text;
  // tvm.tir.max, tvm.te.exp: the library's own names.
  const bool library = base.kind == Kind::kAttribute &&
                       (base.text == "tir" || base.text == "tirx" || base.text == "te") &&
                       base.items[0]->kind == Kind::kName && base.items[0]->text == "tvm" && Lookup("tvm") == nullptr;
  if (library) return e.text;
  std::optional<std::string> outer = DialectName(base);
  if (!outer) return std::nullopt;
  return absl::StrCat(*outer, ".", e.text);
}

std::optional<std::string> FunctionReader::CalledName(const PyExpr& e) const {
  if (e.kind != Kind::kCall) return std::nullopt;
  return DialectName(*e.items[0]);
}

bool FunctionReader::Bind(const PyExpr& call, std::initializer_list<std::string_view> names, Arguments* out,
                          size_t skip) {
  const size_t positional = call.items.size() - 1;
  if (positional > names.size() + skip) {
    return Fail(call.items[names.size() + skip + 1]->offset,
                absl::StrCat("expected at most ", names.size() + skip, " arguments, found ", positional));
  }
  for (size_t i = skip; i < positional; ++i) {
    const PyExpr& value = *call.items[i + 1];
    if (value.kind == Kind::kStarred) return Fail(value.offset, "'*' is not supported here");
    out->given_.emplace_back(names.begin()[i - skip], &value);
  }
  for (size_t i = 0; i < call.keywords.size(); ++i) {
    const std::string& keyword = call.keywords[i];
    const auto* name = std::find(names.begin(), names.end(), keyword);
    if (name == names.end()) {
      return Fail(call.keyword_offsets[i], absl::StrCat("unexpected argument '", keyword, "'"));
    }
    if ((*out)[keyword] != nullptr) {
      return Fail(call.keyword_offsets[i], absl::StrCat("argument '", keyword, "' is given twice"));
    }
    // None stands for "not given".
    if (call.keyword_values[i]->kind != Kind::kNone) out->given_.emplace_back(*name, call.keyword_values[i].get());
  }
  std::erase_if(out->given_, [](const auto& given) { return given.second->kind == Kind::kNone; });
  return true;
}

bool FunctionReader::Require(const PyExpr& call, const Arguments& args, std::string_view name) {
  if (args[name] != nullptr) return true;
  return Fail(call.offset, absl::StrCat("argument '", absl::string_view(name.data(), name.size()), "' is missing"));
}

Function FunctionReader::Read(const PyStmt& definition) {
  function_.name = definition.text;
  for (const PyExprPtr& decorator : definition.decorators) {
    for (size_t i = 0; i < decorator->keywords.size(); ++i) {
      const PyExpr& value = *decorator->keyword_values[i];
      if (decorator->keywords[i] == "private" && value.kind == Kind::kBool) function_.is_private = value.integer != 0;
    }
  }
  FindSymbols(definition.body);
  FindNames(definition.body);
  frames_.emplace_back();
  if (!ReadParameters(definition)) return Function();
  Stmt body = ReadBody(definition.body);
  if (!body) return Function();
  for (const Var& var : FreeVars(function_.params, body)) {
    auto it = size_offsets_.find(var.get());
    if (it == size_offsets_.end()) continue;
    Fail(it->second, absl::StrCat("'", var.name(), "' is used, but is not a size of a parameter or matched buffer"));
    return Function();
  }
  function_.body = AddRootBlock(std::move(body));
  LeaveFrame();
  return Function(std::move(function_));
}

void FunctionReader::FindSymbols(const std::vector<PyStmt>& body) {
  for (const PyStmt& s : body) {
    if (s.kind != PyStmt::Kind::kAssign || !s.value) continue;
    // n = T.int64(), or n, m = T.int64(), T.int64()
    const bool tuple = s.target->kind == Kind::kTuple && s.value->kind == Kind::kTuple &&
                       s.target->items.size() == s.value->items.size();
    for (size_t i = 0; i < (tuple ? s.target->items.size() : 1); ++i) {
      const PyExpr& target = tuple ? *s.target->items[i] : *s.target;
      const auto dtype = SizeType(tuple ? *s.value->items[i] : *s.value);
      if (target.kind == Kind::kName && dtype && dtype->is_integer()) symbols_[target.text] = *dtype;
    }
  }
  for (const std::string& name : module_.type_vars) symbols_.try_emplace(name, DataType::Int(64));
}

std::optional<DataType> FunctionReader::SizeType(const PyExpr& value) const {
  const auto name = CalledName(value);
  if (!name) return std::nullopt;
  const bool named = name == "var" && value.items.size() == 2 && value.items[1]->kind == Kind::kString;
  if (named) return DataType::Parse(value.items[1]->text);
  return value.items.size() == 1 ? DataType::Parse(*name) : std::nullopt;
}

Var FunctionReader::Symbol(const std::string& name, DataType dtype, uint32_t offset) {
  auto it = symbols_.find(name);
  Var var(name, it == symbols_.end() ? dtype : it->second);
  size_offsets_.emplace(var.get(), offset);
  return var;
}

bool FunctionReader::ReadParameters(const PyStmt& definition) {
  // Scalars first: the shape of a buffer may use a parameter that comes after it.
  for (const PyParameter& parameter : definition.parameters) {
    if (parameter.name[0] == '*') return Fail(parameter.offset, "'*' is not supported here");
    if (!parameter.annotation) {
      return Fail(parameter.offset, absl::StrCat("parameter '", parameter.name,
                                                 "' has no type; expected T.Buffer(...), T.handle, T.int32, ..."));
    }
    if (parameter.default_value) return Fail(parameter.default_value->offset, "parameters have no default values");
    if (parameter.annotation->kind == Kind::kCall || parameter.annotation->kind == Kind::kSubscript) continue;
    DataType dtype;
    if (!ReadTypeName(*parameter.annotation, &dtype)) return false;
    if (!Define(parameter.name, parameter.offset, Value{Expr(Var(parameter.name, dtype))})) return false;
  }
  for (const PyParameter& parameter : definition.parameters) {
    if (!ReadParameter(parameter)) return false;
  }
  return true;
}

bool FunctionReader::ReadParameter(const PyParameter& parameter) {
  const PyExpr& annotation = *parameter.annotation;
  if (const Value* scalar = Lookup(parameter.name); scalar != nullptr && scalar->As<Expr>() != nullptr) {
    const auto* var = dyn_cast<VarNode>(*scalar->As<Expr>());
    if (var != nullptr && annotation.kind != Kind::kCall && annotation.kind != Kind::kSubscript) {
      function_.params.push_back({Var(var), Buffer()});
      return true;
    }
  }
  if (const auto name = CalledName(annotation); name && annotation.items.size() == 1 && DataType::Parse(*name)) {
    // n: T.int32()
    Var var(parameter.name, *DataType::Parse(*name));
    function_.params.push_back({var, Buffer()});
    return Define(parameter.name, parameter.offset, Value{Expr(var)});
  }
  const auto name = annotation.kind == Kind::kSubscript ? DialectName(*annotation.items[0]) : CalledName(annotation);
  if (name == "handle" || name == "Ptr" ||
      name == "ptr") {  // T.handle("float32"): a pointer; to what is not part of the IR
    Var var(parameter.name, DataType::Handle());
    function_.params.push_back({var, Buffer()});
    return Define(parameter.name, parameter.offset, Value{Expr(var)});
  }
  if (name != "Buffer" && name != "buffer") {
    return Fail(annotation.offset, "expected a parameter type: T.Buffer(...), T.handle, T.int32, ...");
  }
  Arguments args;
  PyExpr call = annotation;  // T.Buffer[(4, 4), "float32"] means T.Buffer((4, 4), "float32")
  call.kind = Kind::kCall;
  if (!Bind(call,
            {"shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type",
             "axis_separators", "layout"},
            &args)) {
    return false;
  }
  Buffer buffer = ReadBuffer(annotation, parameter.name, args, {});
  if (!buffer) return false;
  NoteSizes(buffer);
  function_.params.push_back({Var(absl::StrCat("var_", parameter.name), DataType::Handle()), buffer});
  return Define(parameter.name, parameter.offset, Value{buffer});
}

// A text alone, as people write in place of comments.
bool FunctionReader::IsDocstring(const PyStmt& s) const {
  return s.kind == PyStmt::Kind::kExpr && s.value->kind == Kind::kString;
}

Stmt FunctionReader::ReadBody(const std::vector<PyStmt>& body) {
  frames_.emplace_back();
  const int nesting = nesting_;
  const size_t open = open_loops_.size();
  Segments segments(1);
  bool ok = true;
  places_.emplace_back(&body, 0);
  for (size_t i = 0; ok && i < body.size(); ++i) {
    places_.back().second = i;
    ok = IsDocstring(body[i]) || ReadStmt(body[i], segments);
  }
  places_.pop_back();
  LeaveFrame();
  nesting_ = nesting;
  open_loops_.resize(open, Var());
  if (!ok) return Stmt();
  while (true) {
    Stmt stmt = Sequence(std::move(segments.back().stmts));
    if (!segments.back().wrap) return stmt;
    stmt = segments.back().wrap(std::move(stmt));
    segments.pop_back();
    segments.back().stmts.push_back(std::move(stmt));
  }
}

// TVM's rule: a function with blocks has one root block without iterators around everything.
Stmt FunctionReader::AddRootBlock(Stmt body) {
  if (root_buffers_.empty()) {
    const auto* realize = dyn_cast<BlockRealizeNode>(body);
    const bool is_root = realize != nullptr && realize->block->iter_vars.empty();
    if (is_root || !ContainsBlock(body)) return body;
  }
  BlockNode::Fields root;
  root.name = "root";
  root.alloc_buffers = std::move(root_buffers_);
  root.body = std::move(body);
  return Realize({}, True(), Block(std::move(root)));
}

bool FunctionReader::ReadAnnotations(const PyExpr& e, Annotations* out) {
  if (e.kind != Kind::kDict) return Fail(e.offset, "expected a dictionary: {\"key\": value, ...}");
  for (size_t i = 0; i < e.items.size(); i += 2) {
    std::string key;
    if (!ReadString(*e.items[i], &key)) return false;
    const PyExpr* value = e.items[i + 1].get();
    // T.target({...}) and T.target("llvm"): what matters is the description.
    if (const auto name = CalledName(*value); name && (name == "target" || name == "Target")) {
      if (value->items.size() != 2) return Fail(value->offset, "expected T.target(DESCRIPTION)");
      value = value->items[1].get();
    }
    Annotation annotation;
    if (value->kind == Kind::kDict) {
      Annotations nested;
      if (!ReadAnnotations(*value, &nested)) return false;
      annotation.value = std::move(nested);
    } else if (value->kind == Kind::kList || value->kind == Kind::kTuple) {
      Annotation::List list;
      for (const PyExprPtr& item : value->items) {
        // A list is read as a dictionary with one entry, which handles nested lists and dictionaries alike.
        PyExpr entry;
        entry.kind = Kind::kDict;
        entry.offset = item->offset;
        entry.items = {e.items[i], item};
        Annotations nested;
        if (!ReadAnnotations(entry, &nested)) return false;
        list.push_back(std::move(nested.begin()->second));
      }
      annotation.value = std::move(list);
    } else {
      Value read;
      if (!Eval(*value, &read)) return false;
      if (const auto* buffer = read.As<Buffer>()) read.data = Expr((*buffer)->data);
      const auto* real = read.As<double>();  // keeps all its digits
      Expr expr = read.As<None>() != nullptr ? Call(DataType::Handle(), "none", {})
                  : real != nullptr          ? ConstFloat(DataType::Float(64), *real)
                                             : ToExpr(read, value->offset);
      if (!expr) return false;
      Announce(expr);
      annotation.value = std::move(expr);
    }
    if (!out->emplace(std::move(key), std::move(annotation)).second) {
      return Fail(e.items[i]->offset, "this key is given twice");
    }
  }
  return true;
}

}  // namespace tilewright::script
