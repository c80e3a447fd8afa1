#include "graph/ir/reader.h"

#include "absl/strings/str_cat.h"

namespace tilewright::graph {
namespace {

using Kind = PyExpr::Kind;
using StmtKind = PyStmt::Kind;

bool IsCallOf(const PyExprPtr& e, std::string_view name) {
  return e && e->kind == Kind::kCall && DottedName(*e->items[0]) == name;
}

bool IsDataflow(const PyStmt& s) { return s.kind == StmtKind::kWith && IsCallOf(s.value, "R.dataflow"); }

}  // namespace

bool GraphReader::Fail(uint32_t offset, std::string message) {
  if (!error_) error_ = script::MakeDiagnostic(context_.text, context_.file, offset, std::move(message));
  return false;
}

bool GraphReader::Read(const PyStmt& definition) {
  bool is_private = false;
  for (const PyExprPtr& decorator : definition.decorators) {
    for (size_t i = 0; i < decorator->keywords.size(); ++i) {
      if (decorator->keywords[i] == "private") is_private = decorator->keyword_values[i]->integer != 0;
    }
  }
  std::vector<Var> params;
  if (!ReadParameters(definition, &params)) return false;
  Attrs attrs;
  for (const PyStmt& s : definition.body) {
    if (s.kind != StmtKind::kExpr || !IsCallOf(s.value, "R.func_attr")) continue;
    if (s.value->items.size() != 2) return Fail(s.offset, "expected R.func_attr({...})");
    if (!ReadAttrs(*s.value->items[1], &attrs)) return false;
  }
  b_.BeginFunction(definition.text, params, {}, std::move(attrs), is_private);
  Value result;
  if (!ReadBody(definition.body, nullptr, &result)) {
    b_.AbandonFunction();
    return false;
  }
  const absl::StatusOr<Function> function = b_.EndFunction(result);
  if (function.ok()) return true;
  b_.AbandonFunction();
  return FailStatus(definition.offset, function.status());
}

bool GraphReader::ReadParameters(const PyStmt& definition, std::vector<Var>* params) {
  for (const PyParameter& parameter : definition.parameters) {
    if (!parameter.annotation) return Fail(parameter.offset, "a parameter of a graph function needs a type");
    Type type;
    if (!ReadType(*parameter.annotation, &type)) return false;
    params->emplace_back(parameter.name, std::move(type));
    if (!values_.emplace(parameter.name, params->back()).second) {
      return Fail(parameter.offset, absl::StrCat("parameter '", parameter.name, "' is given twice"));
    }
  }
  return true;
}

// n = T.int64(), or n, m = T.int64(), T.int64()
bool GraphReader::ReadSymbols(const PyStmt& s, bool* is_symbols) {
  const bool tuple = s.value->kind == Kind::kTuple && s.target->kind == Kind::kTuple &&
                     s.value->items.size() == s.target->items.size() && !s.value->items.empty();
  const auto is_symbol = [](const PyExpr& e) {
    return e.kind == Kind::kCall && e.items.size() == 1 && DottedName(*e.items[0]) == "T.int64";
  };
  *is_symbols = is_symbol(tuple ? *s.value->items[0] : *s.value);
  if (!*is_symbols) return true;
  for (size_t i = 0; i < (tuple ? s.target->items.size() : 1); ++i) {
    const PyExpr& target = tuple ? *s.target->items[i] : *s.target;
    if (target.kind != Kind::kName || (tuple && !is_symbol(*s.value->items[i]))) {
      return Fail(target.offset, "expected NAME = T.int64()");
    }
    DefineSymbol(target.text);
  }
  return true;
}

// The statements of a function or branch. A function ends with `return`; a branch with the value of `result_name`.
bool GraphReader::ReadBody(const std::vector<PyStmt>& body, const std::string* result_name, Value* result) {
  for (size_t i = 0; i < body.size(); ++i) {
    const PyStmt& s = body[i];
    const bool last = i + 1 == body.size();
    if (s.kind == StmtKind::kReturn) {
      if (result_name != nullptr) return Fail(s.offset, "a branch gives a variable its value and does not return");
      if (!s.value || !last) return Fail(s.offset, "expected one `return VALUE` at the end of the function");
      return ReadValue(*s.value, result) && (*result || Fail(s.offset, "a function returns a value"));
    }
    const bool assigns = s.kind == StmtKind::kAssign || s.kind == StmtKind::kAnnotate;
    if (last && result_name != nullptr && assigns && s.value && s.target->kind == Kind::kName) {
      if (s.target->text != *result_name) {
        return Fail(s.target->offset,
                    absl::StrCat("both branches must end with a value for one variable; the other is ", *result_name));
      }
      return ReadValue(*s.value, result) && (*result || Fail(s.offset, "a branch gives a value"));
    }
    if (!ReadStmt(s)) return false;
  }
  if (result_name != nullptr && !body.empty() && body.back().kind == StmtKind::kIf) {
    const auto it = values_.find(*result_name);
    if (it != values_.end()) {
      *result = it->second;
      return true;
    }
  }
  const uint32_t offset = body.empty() ? 0 : body.back().offset;
  return Fail(offset,
              result_name == nullptr ? "the function does not return a value" : "a branch must end with NAME = VALUE");
}

bool GraphReader::ReadStmt(const PyStmt& s) {
  switch (s.kind) {
    case StmtKind::kPass:
      return true;
    case StmtKind::kExpr:
      if (IsCallOf(s.value, "R.func_attr") || s.value->kind == Kind::kString) return true;
      return Fail(s.offset, "a value without a name has no effect here");
    case StmtKind::kAssert:
      return ReadGuard(s);
    case StmtKind::kWith:
      if (IsDataflow(s)) return ReadDataflow(s);
      return Fail(s.offset, "expected R.dataflow()");
    case StmtKind::kIf:
      return ReadIf(s);
    case StmtKind::kAssign:
    case StmtKind::kAnnotate: {
      if (!s.value) return Fail(s.offset, "a variable without a value");
      bool is_symbols = false;
      if (!ReadSymbols(s, &is_symbols)) return false;
      if (is_symbols) return true;
      if (s.target->kind != Kind::kName) return Fail(s.target->offset, "expected NAME = VALUE");
      if (s.target->text == "cls" && s.value->kind == Kind::kName) return true;  // cls = Module
      return ReadBinding(s, s.target->text);
    }
    default:
      return Fail(s.offset, "this statement has no meaning in a graph function");
  }
}

bool GraphReader::ReadDataflow(const PyStmt& s) {
  if (b_.in_dataflow()) return Fail(s.offset, "a dataflow block inside a dataflow block");
  b_.BeginDataflow();
  std::vector<Var> outputs;
  for (const PyStmt& inner : s.body) {
    if (inner.kind == StmtKind::kExpr && IsCallOf(inner.value, "R.output")) {
      if (!ReadOutputs(*inner.value, &outputs)) return false;
      continue;
    }
    if (inner.kind == StmtKind::kIf || inner.kind == StmtKind::kWith) {
      return Fail(inner.offset, "control flow in a dataflow block");
    }
    if (!ReadStmt(inner)) return false;
    if (!b_.in_dataflow()) return Fail(inner.offset, "a call with an effect in a dataflow block");
  }
  b_.EndDataflow(outputs);
  return true;
}

bool GraphReader::ReadOutputs(const PyExpr& call, std::vector<Var>* outputs) {
  for (size_t i = 1; i < call.items.size(); ++i) {
    Value value;
    if (!ReadValue(*call.items[i], &value)) return false;
    const auto* var = dyn_cast<VarNode>(value);
    if (var == nullptr) return Fail(call.items[i]->offset, "an output must be a variable");
    // What is bound outside of the block needs no mention.
    if (b_.IsBoundHere(Var(var))) outputs->emplace_back(var);
  }
  return true;
}

bool GraphReader::ReadBranch(const std::vector<PyStmt>& body, const std::string& name, Seq* out) {
  const auto outside = values_;
  b_.BeginBranch();
  Value result;
  if (!ReadBody(body, &name, &result)) return false;
  absl::StatusOr<Seq> seq = b_.EndBranch(result);
  values_ = outside;
  if (!seq.ok()) return FailStatus(body.back().offset, seq.status());
  *out = *std::move(seq);
  return true;
}

bool GraphReader::ReadIf(const PyStmt& s) {
  if (s.else_body.empty()) return Fail(s.offset, "a branch of a graph needs an else");
  // The variable that both branches give a value is that of the last statement, inside of branches that end the branch.
  const std::vector<PyStmt>* body = &s.body;
  while (!body->empty() && body->back().kind == StmtKind::kIf) body = &body->back().body;
  const bool named = !body->empty() && body->back().target && body->back().target->kind == Kind::kName;
  if (!named) return Fail(s.offset, "a branch must end with NAME = VALUE");
  const std::string name = body->back().target->text;
  Type annotation;
  Value condition;
  if (!ReadValue(*s.value, &condition)) return false;
  if (!condition) return Fail(s.offset, "expected a condition");
  Seq then_branch, else_branch;
  if (!ReadBranch(s.body, name, &then_branch) || !ReadBranch(s.else_body, name, &else_branch)) return false;
  const PyStmt& last = body->back();
  if (last.annotation && !ReadType(*last.annotation, &annotation)) return false;
  return Bind(name, If(condition, then_branch, else_branch), annotation, s.offset);
}

bool GraphReader::ReadBinding(const PyStmt& s, const std::string& name) {
  Value value;
  Type annotation;
  if (!ReadValue(*s.value, &value)) return false;
  if (!value) return Fail(s.value->offset, "None is not a value that has a name");
  if (s.annotation && !ReadType(*s.annotation, &annotation)) return false;
  return Bind(name, value, annotation, s.value->offset);
}

bool GraphReader::Bind(const std::string& name, const Value& value, const Type& annotation, uint32_t offset) {
  const absl::StatusOr<Var> var = b_.EmitAs(value, annotation, name);
  if (!var.ok()) return FailStatus(offset, var.status());
  values_.insert_or_assign(name, *var);
  return true;
}

bool GraphReader::ReadGuard(const PyStmt& s) {
  const Expr condition = index_.Read(*s.value);
  if (!condition) {
    if (!error_) error_ = index_.error();
    return false;
  }
  if (!condition.dtype().is_bool()) return Fail(s.offset, "expected a condition");
  b_.AddGuard(condition);
  return true;
}

}  // namespace tilewright::graph
