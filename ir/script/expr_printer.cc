#include "ir/script/expr_printer.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/script/calls.h"
#include "ir/script/reducer.h"
#include "ir/structural.h"

namespace tilewright::script {
namespace {

// Python's precedence of operators, loosest first.
enum Precedence {
  kAny,
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kBitOrLevel,
  kBitXorLevel,
  kBitAndLevel,
  kShiftLevel,
  kSumLevel,
  kProductLevel,
  kUnaryLevel
};

struct OperatorText {
  const char* symbol;  // null: always printed as a function
  const char* function;
  int precedence;
};

OperatorText TextOf(BinaryOp op, DataType operands) {
  switch (op) {
    case BinaryOp::kAdd:
      return {"+", "Add", kSumLevel};
    case BinaryOp::kSub:
      return {"-", "Sub", kSumLevel};
    case BinaryOp::kMul:
      return {"*", "Mul", kProductLevel};
    case BinaryOp::kDiv:
      return {operands.is_float() ? "/" : nullptr, "Div", kProductLevel};
    case BinaryOp::kMod:
      return {nullptr, "truncmod", 0};
    case BinaryOp::kFloorDiv:
      return {"//", "FloorDiv", kProductLevel};
    case BinaryOp::kFloorMod:
      return {"%", "FloorMod", kProductLevel};
    case BinaryOp::kMin:
      return {nullptr, "min", 0};
    case BinaryOp::kMax:
      return {nullptr, "max", 0};
    case BinaryOp::kEQ:
      return {"==", "EQ", kCompareLevel};
    case BinaryOp::kNE:
      return {"!=", "NE", kCompareLevel};
    case BinaryOp::kLT:
      return {"<", "LT", kCompareLevel};
    case BinaryOp::kLE:
      return {"<=", "LE", kCompareLevel};
    case BinaryOp::kGT:
      return {">", "GT", kCompareLevel};
    case BinaryOp::kGE:
      return {">=", "GE", kCompareLevel};
    case BinaryOp::kAnd:
      return {"and", "And", kAndLevel};
    case BinaryOp::kOr:
      return {"or", "Or", kOrLevel};
  }
  return {nullptr, "", 0};
}

// Calls that have an operator.
struct BitOperator {
  const char* op;
  const char* symbol;
  int precedence;
};
constexpr BitOperator kBitOperators[] = {{"bitwise_or", "|", kBitOrLevel},
                                         {"bitwise_xor", "^", kBitXorLevel},
                                         {"bitwise_and", "&", kBitAndLevel},
                                         {"shift_left", "<<", kShiftLevel},
                                         {"shift_right", ">>", kShiftLevel}};

bool IsImmediate(const Expr& e) { return isa<IntImmNode>(e) || isa<FloatImmNode>(e); }

}  // namespace

std::string Quote(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string ExprPrinter::Text(const Expr& e) {
  std::string out;
  Append(e, kAny, out);
  return out;
}

void ExprPrinter::AppendAll(const std::vector<Expr>& items, std::string& out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ", ";
    Append(items[i], kAny, out);
  }
}

std::string ExprPrinter::Tuple(const std::vector<Expr>& items) {
  std::string out = "(";
  AppendAll(items, out);
  return out + (items.size() == 1 ? ",)" : ")");
}

std::string ExprPrinter::Stop(const Expr& min, const Expr& extent) {
  const auto first = AsInt(min), length = AsInt(extent);
  if (first && length) {
    const int64_t stop = static_cast<int64_t>(static_cast<uint64_t>(*first) + static_cast<uint64_t>(*length));
    const bool wraps = (*length >= 0) != (stop >= *first);
    if (!wraps && stop >= MinValue(extent.dtype()) && stop <= MaxValue(extent.dtype())) {
      return Text(Const(extent.dtype(), stop));
    }
  } else if (IsInt(min, 0)) {
    return Text(extent);
  }
  return Text(min + extent);
}

std::string ExprPrinter::Text(const BufferRegion& region) {
  std::string out = names_.TextOf(region.buffer.get());
  if (region.region.empty()) return out + "[()]";
  out += "[";
  for (size_t i = 0; i < region.region.size(); ++i) {
    const Range& range = region.region[i];
    if (i != 0) out += ", ";
    Append(range.min, kAny, out);
    const bool point = IsInt(range.extent, 1) && range.extent.dtype() == range.min.dtype();
    if (!point) absl::StrAppend(&out, ":", Stop(range.min, range.extent));
  }
  return out + "]";
}

std::string ExprPrinter::Indices(const std::vector<Expr>& indices) {
  if (indices.empty()) return "[()]";
  std::string out = "[";
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i != 0) out += ", ";
    const auto* ramp = dyn_cast<RampNode>(indices[i]);
    if (ramp != nullptr && IsInt(ramp->stride, 1)) {
      Append(ramp->base, kAny, out);
      absl::StrAppend(&out, ":", Stop(ramp->base, Const(ramp->base.dtype(), ramp->dtype().lanes())));
    } else {
      Append(indices[i], kAny, out);
    }
  }
  return out + "]";
}

std::string ExprPrinter::Text(const Annotation& annotation) {
  if (const auto* expr = std::get_if<Expr>(&annotation.value)) {
    if (const auto* call = dyn_cast<CallNode>(*expr); call != nullptr && call->op == "none") return "None";
    const auto* real = dyn_cast<FloatImmNode>(*expr);
    if (real == nullptr || real->dtype() != DataType::Float(64) || !std::isfinite(real->value)) return Text(*expr);
    char digits[64];
    std::string text(digits, std::to_chars(digits, digits + sizeof(digits), real->value).ptr);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  if (const auto* dict = std::get_if<Annotation::Dict>(&annotation.value)) return Text(*dict);
  std::string out = "[";
  for (const Annotation& item : std::get<Annotation::List>(annotation.value)) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", Text(item));
  }
  return out + "]";
}

std::string ExprPrinter::Text(const Annotations& annotations) {
  std::string out = "{";
  for (const auto& [key, value] : annotations) {
    absl::StrAppend(&out, out.size() > 1 ? ", " : "", Quote(key), ": ", Text(value));
  }
  return out + "}";
}

std::string ExprPrinter::Text(const IndexMap& map) {
  names_.OpenScope();
  std::string out = "lambda ";
  for (size_t i = 0; i < map->inputs.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", names_.Define(map->inputs[i].get(), map->inputs[i].name()));
  }
  absl::StrAppend(&out, ": ", Tuple(map->outputs));
  names_.CloseScope();
  return out;
}

void ExprPrinter::Append(const Expr& e, int least, std::string& out) {
  switch (e->kind()) {
    case Kind::kIntImm:
      return AppendInt(cast<IntImmNode>(e), out);
    case Kind::kFloatImm:
      return AppendFloat(cast<FloatImmNode>(e), out);
    case Kind::kStringImm:
      out += Quote(cast<StringImmNode>(e)->value);
      return;
    case Kind::kVar:
      out += names_.TextOf(cast<VarNode>(e));
      return;
    case Kind::kBinary:
      return AppendBinary(cast<BinaryNode>(e), least, out);
    case Kind::kNot:
      return AppendNot(cast<NotNode>(e), least, out);
    case Kind::kLoad:
      return AppendLoad(cast<LoadNode>(e), out);
    case Kind::kLet:
      return AppendLet(cast<LetNode>(e), out);
    case Kind::kCall:
      return AppendCall(cast<CallNode>(e), least, out);
    default:
      return AppendNamed(e, out);
  }
}

void ExprPrinter::AppendNot(const NotNode* op, int least, std::string& out) {
  const bool function = IsImmediate(op->a);
  const bool parenthesize = least > kNotLevel && !function;
  out += function ? "T.Not(" : parenthesize ? "(not " : "not ";
  Append(op->a, function ? static_cast<int>(kAny) : static_cast<int>(kNotLevel), out);
  if (function || parenthesize) out += ")";
}

void ExprPrinter::AppendLet(const LetNode* op, std::string& out) {
  const std::string value = Text(op->value);
  names_.OpenScope();
  const std::string name = names_.Define(op->var.get(), op->var.name());
  out += "T.Let(";
  Append(op->body, kAny, out);
  absl::StrAppend(&out, ", where={", name, ": ", value, "})");
  names_.CloseScope();
}

void ExprPrinter::AppendNamed(const Expr& e, std::string& out) {
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    out += "T.Select(";
    AppendAll({select->condition, select->true_value, select->false_value}, out);
    out += ")";
  } else if (const auto* cast_node = dyn_cast<CastNode>(e)) {
    absl::StrAppend(&out, "T.Cast(\"", e.dtype().ToString(), "\", ");
    Append(cast_node->value, kAny, out);
    out += ")";
  } else if (const auto* ramp = dyn_cast<RampNode>(e)) {
    out += "T.Ramp(";
    AppendAll({ramp->base, ramp->stride}, out);
    absl::StrAppend(&out, ", ", e.dtype().lanes(), ")");
  } else if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) {
    out += "T.Broadcast(";
    Append(broadcast->value, kAny, out);
    absl::StrAppend(&out, ", ", e.dtype().lanes() / broadcast->value.dtype().lanes(), ")");
  } else if (const auto* shuffle = dyn_cast<ShuffleNode>(e)) {
    out += "T.Shuffle([";
    AppendAll(shuffle->vectors, out);
    absl::StrAppend(&out, "], [", absl::StrJoin(shuffle->indices, ", "), "])");
  }
}

void ExprPrinter::AppendBinary(const BinaryNode* op, int least, std::string& out) {
  const OperatorText text = TextOf(op->op, op->a.dtype());
  // Python would compute an operation on two numbers; as a function it stays one.
  if (text.symbol == nullptr || (IsImmediate(op->a) && IsImmediate(op->b))) {
    absl::StrAppend(&out, "T.", text.function, "(");
    AppendAll({op->a, op->b}, out);
    out += ")";
    return;
  }
  // Operators group to the left, except comparisons, which do not group at all.
  AppendOperator(op->a, op->b, text.symbol, text.precedence, !IsComparison(op->op), least, out);
}

void ExprPrinter::AppendLoad(const LoadNode* op, std::string& out) {
  out += names_.TextOf(op->buffer.get());
  if (!op->predicate) {
    out += Indices(op->indices);
    return;
  }
  out += ".vload([";
  AppendAll(op->indices, out);
  absl::StrAppend(&out, "], predicate=", Text(op->predicate), ")");
}

void ExprPrinter::AppendOperator(const Expr& a, const Expr& b, const char* symbol, int precedence, bool associates,
                                 int least, std::string& out) {
  const bool parenthesize = precedence < least;
  if (parenthesize) out += "(";
  Append(a, associates ? precedence : precedence + 1, out);
  absl::StrAppend(&out, " ", symbol, " ");
  Append(b, precedence + 1, out);
  if (parenthesize) out += ")";
}

bool ExprPrinter::AppendBitOperator(const CallNode* op, int least, std::string& out) {
  if (!op->dtype().is_integer() || ResultType(ResultRule::kInteger, op->args) != op->dtype()) return false;
  // The reader computes ~ of a number without a type.
  const bool untyped = IsImmediate(op->args[0]) && op->args[0].dtype() == DataType::Int(32);
  if (op->op == "bitwise_not" && op->args.size() == 1 && !untyped) {
    out += "~";
    Append(op->args[0], kUnaryLevel, out);
    return true;
  }
  for (const BitOperator& bit : kBitOperators) {
    if (op->op != bit.op || op->args.size() != 2) continue;
    if (IsImmediate(op->args[0]) && IsImmediate(op->args[1])) return false;
    AppendOperator(op->args[0], op->args[1], bit.symbol, bit.precedence, true, least, out);
    return true;
  }
  return false;
}

bool ExprPrinter::AppendReducer(const CallNode* op, std::string& out) {
  const size_t count = op->args.size() / 2;
  if (!operands_.empty() || count == 0 || op->args.size() % 2 != 0 || !op->dtype().is_handle()) return false;
  for (size_t i = 0; i < count; ++i) {
    if (op->args[i].dtype() != op->args[count + i].dtype()) return false;
  }
  std::string identities;
  AppendAll({op->args.begin() + static_cast<ptrdiff_t>(count), op->args.end()}, identities);
  names_.OpenScope();
  std::string parameters;
  for (size_t i = 0; i < 2 * count; ++i) {
    const std::string name = names_.Take(absl::StrCat(i < count ? "x" : "y", i % count));
    absl::StrAppend(&parameters, i == 0 ? "" : ", ", name);
    operands_.emplace_back(name, op->args[count + i % count].dtype());
  }
  absl::StrAppend(&out, "T.comm_reducer(lambda ", parameters, ": ", count > 1 ? "(" : "");
  AppendAll({op->args.begin(), op->args.begin() + static_cast<ptrdiff_t>(count)}, out);
  absl::StrAppend(&out, count > 1 ? ")" : "", ", [", identities, "])");
  operands_.clear();
  names_.CloseScope();
  return true;
}

void ExprPrinter::AppendCall(const CallNode* op, int least, std::string& out) {
  if (AppendBitOperator(op, least, out)) return;
  if (const auto number = OperandNumber(op, operands_.size()); number && operands_[*number].second == op->dtype()) {
    out += operands_[*number].first;
    return;
  }
  if (op->op == kReducer && AppendReducer(op, out)) return;
  const auto count = static_cast<int>(op->args.size());
  const CallSpelling* spelling = SpellingOf(op->op);
  const bool fits =
      spelling != nullptr && count >= spelling->min_args && (spelling->max_args < 0 || count <= spelling->max_args);
  if (fits && spelling->rule == ResultRule::kTypeFirst) {
    absl::StrAppend(&out, "T.", absl::string_view(spelling->name.data(), spelling->name.size()), "(\"",
                    op->dtype().ToString(), "\"", count == 0 ? "" : ", ");
  } else if (fits && spelling->rule == ResultRule::kTypeLast) {
    absl::StrAppend(&out, "T.", op->op, "(");
    AppendAll(op->args, out);
    absl::StrAppend(&out, ", \"", op->dtype().ToString(), "\")");
    return;
  } else if ((fits && ResultType(spelling->rule, op->args) == op->dtype()) ||
             (op->op == "if_then_else" && count == 3)) {
    absl::StrAppend(&out, "T.", op->op, "(");
  } else {
    absl::StrAppend(&out, "T.call_intrin(\"", op->dtype().ToString(), "\", ", Quote(op->op), count == 0 ? "" : ", ");
  }
  AppendAll(op->args, out);
  out += ")";
}

void ExprPrinter::AppendInt(const IntImmNode* op, std::string& out) {
  const DataType type = op->dtype();
  if (type.is_bool()) {
    out += op->value != 0 ? "True" : "False";
  } else if (type == plain_) {
    absl::StrAppend(&out, op->value);
  } else if (type.is_uint()) {
    absl::StrAppend(&out, "T.", type.ToString(), "(", static_cast<uint64_t>(op->value), ")");
  } else {
    absl::StrAppend(&out, "T.", type.ToString(), "(", op->value, ")");
  }
}

void ExprPrinter::AppendFloat(const FloatImmNode* op, std::string& out) {
  absl::StrAppend(&out, "T.", op->dtype().ToString(), "(");
  if (std::isnan(op->value)) {
    out += std::signbit(op->value) ? "\"-nan\"" : "\"nan\"";
  } else if (std::isinf(op->value)) {
    out += op->value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    // The shortest digits that give the value back. Formats of up to 32 bits are read by way of a double and rounded
    // once: digits that identify a float lie closer to it than to any other value of a narrower format.
    char digits[64];
    if (op->value == 0 && std::signbit(op->value)) {  // -0 would be an integer, which has no sign at 0
      out += "-0.0)";
      return;
    }
    const auto result = op->dtype().bits() == 64
                            ? std::to_chars(digits, digits + sizeof(digits), op->value)
                            : std::to_chars(digits, digits + sizeof(digits), static_cast<float>(op->value));
    out.append(digits, result.ptr);
  }
  out += ")";
}

}  // namespace tilewright::script
