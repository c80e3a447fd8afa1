// Variables of the program: x: T.int32 that is assigned again. And names that attributes mention before they are
// defined.
//
// TVM prints an attribute on a loop variable around the loop:
//
//     i = T.int32()
//     T.attr(i, "pragma_unroll_explicit", 1)
//     for i in range(16):
//
// and likewise for a buffer that is allocated below. The definition is of the same variable.
#include "absl/strings/str_cat.h"
#include "ir/script/reader.h"

namespace tilewright::script {

using Kind = PyExpr::Kind;
using StmtKind = PyStmt::Kind;

namespace {

void CollectNames(const PyExpr& e, std::set<std::string>* out) {
  if (e.kind == Kind::kName) out->insert(e.text);
  for (const auto* items : {&e.items, &e.keyword_values}) {
    for (const PyExprPtr& item : *items) {
      if (item) CollectNames(*item, out);
    }
  }
}

}  // namespace

void FunctionReader::FindNames(const std::vector<PyStmt>& body) {
  for (const PyStmt& s : body) {
    const auto name = s.value ? CalledName(*s.value) : std::nullopt;
    if ((name == "attr" || name == "block_attr" || name == "sblock_attr") && s.value->items.size() > 1) {
      CollectNames(*s.value->items[1], &attribute_nodes_);
    }
    for (size_t i = 0; name && i < s.value->keywords.size(); ++i) {
      if (s.value->keywords[i] == "annotations") CollectNames(*s.value->keyword_values[i], &attribute_nodes_);
    }
    FindNames(s.body);
    FindNames(s.else_body);
  }
}

// Whether the statements from `first` on, or what they contain, give the name another value.
bool FunctionReader::Assigns(const std::vector<PyStmt>& body, size_t first, const std::string& name) const {
  for (size_t i = first; i < body.size(); ++i) {
    const PyStmt& s = body[i];
    const bool assigns = s.kind == StmtKind::kAssign || s.kind == StmtKind::kAugment;
    if (assigns && s.target->kind == Kind::kName && s.target->text == name && s.value && !SizeType(*s.value))
      return true;
    if (Assigns(s.body, 0, name) || Assigns(s.else_body, 0, name)) return true;
  }
  return false;
}

bool FunctionReader::MakeCell(const std::string& name, DataType dtype, const std::string& scope, uint32_t offset,
                              Segments& out) {
  if (dtype.is_void() || dtype.is_handle()) {
    return Fail(offset, absl::StrCat("expected a type of numbers, found ", dtype.ToString()));
  }
  Buffer buffer(name, {Expr(1)}, dtype, Scope::Parse(scope));
  Segment segment;
  segment.wrap = [buffer](Stmt body) { return Stmt(new AllocateNode(buffer, {}, std::move(body))); };
  out.push_back(std::move(segment));
  ++nesting_;
  return Define(name, offset, Value{Cell{buffer}});
}

bool FunctionReader::IsCellCall(const PyExpr& value, std::string* function) const {
  const auto name = CalledName(value);
  if (!name || (*name != "local_scalar" && *name != "shared_scalar" && *name != "alloc_scalar")) return false;
  *function = *name;
  return true;
}

// x = T.local_scalar(T.int64), T.shared_scalar("int32"), T.alloc_scalar("int32", scope="local")
bool FunctionReader::ReadCellCall(const PyStmt& s, const std::string& function, Segments& out) {
  Arguments args;
  DataType dtype;
  std::string scope = function == "shared_scalar" ? "shared" : "local";
  if (!Bind(*s.value, {"dtype", "scope"}, &args) || !Require(*s.value, args, "dtype") ||
      !ReadTypeName(*args["dtype"], &dtype)) {
    return false;
  }
  if (args["scope"] != nullptr) {
    if (!ReadString(*args["scope"], &scope)) return false;
    if (!Scope::Valid(scope)) return Fail(args["scope"]->offset, absl::StrCat("'", scope, "' is not a storage scope"));
  }
  return MakeCell(s.target->text, dtype, scope, s.target->offset, out);
}

bool FunctionReader::AssignCell(const PyStmt& s, const Cell& cell, Segments& out) {
  const Buffer buffer = cell.buffer;
  Expr value = ReadExpr(*s.value);
  if (value && s.kind == StmtKind::kAugment) {
    value = MakeOperator(s.text, buffer.Load({Expr(0)}), std::move(value), s.value->offset);
  }
  return value && StoreTo(buffer, {Expr(0)}, std::move(value), Expr(), s.value->offset, out);
}

bool FunctionReader::IsForwardBuffer(const std::string& name, const PyExpr& call) const {
  if (!attribute_nodes_.contains(name) || call.items.size() > 3) return false;
  for (const std::string& keyword : call.keywords) {
    if (keyword == "data") return false;
  }
  const auto function = CalledName(call);
  return function == "Buffer" || function == "buffer_decl";
}

void FunctionReader::Announce(const Expr& node) {
  const auto* var = dyn_cast<VarNode>(node);
  if (var == nullptr || !size_offsets_.contains(var) || sizes_.contains(var) || taken_.contains(var)) return;
  announced_.emplace(var, frames_.size());
}

void FunctionReader::LeaveFrame() {
  frames_.pop_back();
  std::erase_if(announced_, [&](const auto& entry) { return entry.second > frames_.size(); });
}

Var FunctionReader::TakeAnnounced(const std::string& name, DataType dtype) {
  if (const Value* known = Lookup(name)) {
    const Expr* expr = known->As<Expr>();
    const auto* var = expr == nullptr ? nullptr : dyn_cast<VarNode>(*expr);
    if (var != nullptr && var->dtype() == dtype && announced_.erase(var) != 0) {
      taken_.insert(var);
      return Var(var);
    }
  }
  return Var(name, dtype);
}

// A variable that was announced and defined since: its name may be given again.
bool FunctionReader::IsTaken(const Value& value) const {
  const Expr* expr = value.As<Expr>();
  const auto* var = expr == nullptr ? nullptr : dyn_cast<VarNode>(*expr);
  return var != nullptr && taken_.contains(var);
}

}  // namespace tilewright::script
