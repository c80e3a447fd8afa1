#include "codegen/cuda/host/scalar_text.h"

#include <cstdint>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/cuda/scalar_code.h"

namespace tilewright::cuda {
namespace {

// How tightly the outermost operator of a text binds.
enum Binding { kOr, kAnd, kEquality, kRelation, kSum, kProduct, kUnary, kAtom };
struct Text {
  std::string text;
  Binding binding = kAtom;
  bool is_literal = false;
  std::string Within(Binding least) const { return binding < least ? absl::StrCat("(", text, ")") : text; }
};

struct BinaryRow {
  const char* name;
  Binding binding;  // kAtom: a function
};
constexpr BinaryRow kBinaryRows[] = {
    {"+", kSum},         {"-", kSum},      {"*", kProduct},   {"/", kProduct},   {"%", kProduct},   {"FloorDiv", kAtom},
    {"FloorMod", kAtom}, {"Min", kAtom},   {"Max", kAtom},    {"==", kEquality}, {"!=", kEquality}, {"<", kRelation},
    {"<=", kRelation},   {">", kRelation}, {">=", kRelation}, {"&&", kAnd},      {"||", kOr},
};

Text Literal(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) return {"INT64_MIN", kAtom, true};
  const bool is_long = value > std::numeric_limits<int32_t>::max() || value < std::numeric_limits<int32_t>::min();
  return {absl::StrCat(value, is_long ? "LL" : ""), value < 0 ? kUnary : kAtom, true};
}

Text Wrapped(DataType type, const std::string& text) {
  return {absl::StrCat("WrapTo<", type.bits(), ", ", type.is_uint() ? "false" : "true", ">(", text, ")")};
}

absl::StatusOr<Text> TextOf(const Expr& e, const VarNames& names);

absl::StatusOr<Text> BinaryText(const BinaryNode* op, const VarNames& names) {
  TW_ASSIGN_OR_RETURN(Text a, TextOf(op->a, names));
  TW_ASSIGN_OR_RETURN(Text b, TextOf(op->b, names));
  const DataType type = op->a.dtype();
  BinaryOp operation = op->op;
  if (type.is_uint() && type.bits() == 64 && DependsOnSign(operation)) {
    a = {absl::StrCat("Unsigned(", a.text, ")")};
    b = {absl::StrCat("Unsigned(", b.text, ")")};
    if (operation == BinaryOp::kFloorDiv) operation = BinaryOp::kDiv;
    if (operation == BinaryOp::kFloorMod) operation = BinaryOp::kMod;
  }
  // Two literals would be computed as C++ does.
  if (a.is_literal && b.is_literal) a = {absl::StrCat("Int(", a.text, ")")};
  const BinaryRow& row = kBinaryRows[static_cast<size_t>(operation)];
  const auto tighter = static_cast<Binding>(row.binding + 1);
  const Text text = row.binding == kAtom
                        ? Text{absl::StrCat(row.name, "(", a.text, ", ", b.text, ")")}
                        : Text{absl::StrCat(a.Within(row.binding), " ", row.name, " ", b.Within(tighter)), row.binding};
  return WrapsToType(operation, type) ? Wrapped(type, text.text) : text;
}

absl::StatusOr<Text> SelectText(const Expr& condition, const Expr& yes, const Expr& no, const VarNames& names) {
  TW_ASSIGN_OR_RETURN(const Text c, TextOf(condition, names));
  TW_ASSIGN_OR_RETURN(const Text a, TextOf(yes, names));
  TW_ASSIGN_OR_RETURN(const Text b, TextOf(no, names));
  return Text{absl::StrCat("Select(", c.text, ", ", a.text, ", ", b.text, ")")};
}

absl::StatusOr<Text> TextOf(const Expr& e, const VarNames& names) {
  if (e.dtype().is_float()) return absl::UnimplementedError("an expression that the host's part cannot compute");
  if (const auto value = AsInt(e)) return Literal(*value);
  if (const auto* var = dyn_cast<VarNode>(e)) {
    const auto name = names.find(var);
    if (name == names.end())
      return absl::UnimplementedError(absl::StrCat("the host does not know variable ", var->name));
    return Text{name->second};
  }
  if (const auto* binary = dyn_cast<BinaryNode>(e)) return BinaryText(binary, names);
  if (const auto* op = dyn_cast<NotNode>(e)) {
    TW_ASSIGN_OR_RETURN(const Text a, TextOf(op->a, names));
    return Text{a.is_literal ? absl::StrCat("!Int(", a.text, ")") : absl::StrCat("!", a.Within(kUnary)), kUnary};
  }
  if (const auto* op = dyn_cast<SelectNode>(e))
    return SelectText(op->condition, op->true_value, op->false_value, names);
  if (const auto* op = dyn_cast<CastNode>(e); op != nullptr && !op->value.dtype().is_float()) {
    TW_ASSIGN_OR_RETURN(const Text a, TextOf(op->value, names));
    const DataType type = op->dtype();
    if (type.is_bool())
      return Text{absl::StrCat(a.is_literal ? "Int(0)" : "0", " != ", a.Within(kRelation)), kEquality};
    if (type.bits() >= 64) return a;
    return Wrapped(type, a.text);
  }
  if (const auto* call = dyn_cast<CallNode>(e)) {
    if (call->op == "likely" && call->args.size() == 1) return TextOf(call->args[0], names);
    if (call->op == "if_then_else") return SelectText(call->args[0], call->args[1], call->args[2], names);
  }
  return absl::UnimplementedError("an expression that the host's part cannot compute");
}

}  // namespace

absl::StatusOr<std::string> ScalarText(const Expr& e, const VarNames& names) {
  TW_ASSIGN_OR_RETURN(const Text text, TextOf(e, names));
  return text.text;
}

absl::StatusOr<std::string> ScalarAtom(const Expr& e, const VarNames& names) {
  TW_ASSIGN_OR_RETURN(const Text text, TextOf(e, names));
  return text.is_literal ? absl::StrCat("Int(", text.text, ")") : text.Within(kAtom);
}

std::string Quoted(const std::string& text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

}  // namespace tilewright::cuda
