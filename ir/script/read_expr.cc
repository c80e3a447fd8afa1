// Names, operators and elements of buffers.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/script/reader.h"
#include "ir/script/region_arithmetic.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

constexpr Integer kInt64Min = std::numeric_limits<int64_t>::min();
constexpr Integer kInt64Max = std::numeric_limits<int64_t>::max();

// An expression that names stand for is repeated at every use; a bound on its size keeps programs from growing
// exponentially.
constexpr int kMaxShared = 2000;

bool IsSmall(const Expr& e) {
  int size = 0;
  PreOrder(e, [&](const Expr&) { return ++size <= kMaxShared; });
  return size <= kMaxShared;
}

std::optional<BinaryOp> OperatorOf(std::string_view op) {
  static constexpr std::pair<std::string_view, BinaryOp> kOperators[] = {
      {"+", BinaryOp::kAdd},      {"-", BinaryOp::kSub}, {"*", BinaryOp::kMul}, {"//", BinaryOp::kFloorDiv},
      {"%", BinaryOp::kFloorMod}, {"==", BinaryOp::kEQ}, {"!=", BinaryOp::kNE}, {"<", BinaryOp::kLT},
      {"<=", BinaryOp::kLE},      {">", BinaryOp::kGT},  {">=", BinaryOp::kGE}, {"and", BinaryOp::kAnd},
      {"or", BinaryOp::kOr},      {"/", BinaryOp::kDiv}};
  for (const auto& [text, value] : kOperators) {
    if (text == op) return value;
  }
  return std::nullopt;
}

}  // namespace

Expr FunctionReader::ToExpr(const Value& value, uint32_t offset) {
  if (const auto* expr = value.As<Expr>()) return *expr;
  if (const auto* integer = value.As<Integer>()) {
    if (*integer < kInt64Min || *integer > kInt64Max) {
      Fail(offset, "this integer does not fit into 64 bits");
      return Expr();
    }
    return Expr(static_cast<int64_t>(*integer));
  }
  if (const auto* real = value.As<double>()) return ConstFloat(DataType::Float(32), *real);
  if (const auto* truth = value.As<bool>()) return *truth ? True() : False();
  if (const auto* text = value.As<std::string>()) return String(*text);
  if (value.As<Buffer>() != nullptr) {
    Fail(offset, "expected a number, found a buffer; an element is written A[i]");
  } else {
    Fail(offset, "expected a number");
  }
  return Expr();
}

Expr FunctionReader::ReadExpr(const PyExpr& e) {
  Value value;
  return Eval(e, &value) ? ToExpr(value, e.offset) : Expr();
}

bool FunctionReader::ReadExprs(const std::vector<PyExprPtr>& items, size_t first, std::vector<Expr>* out) {
  for (size_t i = first; i < items.size(); ++i) {
    Expr e = ReadExpr(*items[i]);
    if (!e) return false;
    out->push_back(std::move(e));
  }
  return true;
}

Expr FunctionReader::ReadIndex(const PyExpr& e) {
  Expr index = ReadExpr(e);
  if (index && !index.dtype().is_integer()) {
    Fail(e.offset, absl::StrCat("expected an integer, found ", index.dtype().ToString()));
    return Expr();
  }
  return index;
}

Expr FunctionReader::ReadCondition(const PyExpr& e) {
  Expr condition = ReadExpr(e);
  if (condition && condition.dtype() != DataType::Bool()) {
    Fail(e.offset, absl::StrCat("expected a condition (bool), found ", condition.dtype().ToString()));
    return Expr();
  }
  return condition;
}

bool FunctionReader::Eval(const PyExpr& e, Value* out) {
  switch (e.kind) {
    case Kind::kInt:
      out->data = static_cast<Integer>(e.integer);
      return true;
    case Kind::kFloat:
      out->data = e.real;
      return true;
    case Kind::kString:
      out->data = e.text;
      return true;
    case Kind::kBool:
      out->data = e.integer != 0;
      return true;
    case Kind::kNone:
      out->data = None();
      return true;
    case Kind::kName:
      return EvalName(e, out);
    case Kind::kAttribute:
      return EvalAttribute(e, out);
    case Kind::kCall:
      return EvalCall(e, out);
    case Kind::kSubscript:
      return EvalSubscript(e, out);
    case Kind::kUnary:
      return EvalUnary(e, out);
    case Kind::kBinary:
      return EvalBinary(e, out);
    case Kind::kList:
    case Kind::kTuple: {
      List list;
      for (const PyExprPtr& item : e.items) {
        list.items.emplace_back();
        if (!Eval(*item, &list.items.back())) return false;
      }
      out->data = std::move(list);
      return true;
    }
    case Kind::kIfElse:
      return EvalConditional(e, out);
    case Kind::kSlice:
    case Kind::kDict:
    case Kind::kLambda:
    case Kind::kStarred:
    case Kind::kFormat:
    case Kind::kComprehension:
      return Fail(e.offset, "expected a number");
  }
  return false;
}

// a if c else b: one of the two where c is known here, else T.if_then_else.
bool FunctionReader::EvalConditional(const PyExpr& e, Value* out) {
  Value condition;
  if (!Eval(*e.items[0], &condition)) return false;
  std::optional<bool> known;
  if (const auto* truth = condition.As<bool>()) known = *truth;
  if (const auto* integer = condition.As<Integer>()) known = *integer != 0;
  if (known) return Eval(*e.items[*known ? 1 : 2], out);
  Expr test = ToExpr(condition, e.items[0]->offset);
  Expr a = test ? ReadExpr(*e.items[1]) : Expr();
  Expr b = a ? ReadExpr(*e.items[2]) : Expr();
  if (!b) return false;
  if (test.dtype() != DataType::Bool()) {
    return Fail(e.items[0]->offset, absl::StrCat("expected a condition (bool), found ", test.dtype().ToString()));
  }
  if (!Unify(&a, &b, e.offset)) return false;
  out->data = IfThenElse(std::move(test), std::move(a), std::move(b));
  return true;
}

bool FunctionReader::EvalName(const PyExpr& e, Value* out) {
  const Value* value = Lookup(e.text);
  if (value == nullptr) {
    const auto other = module_.other_names.find(e.text);
    if (other == module_.other_names.end()) return Fail(e.offset, absl::StrCat("'", e.text, "' is not defined"));
    const int line = MakeDiagnostic(module_.text, module_.file, other->second, "").line;
    return Fail(e.offset, absl::StrCat("'", e.text, "' is not defined: line ", line,
                                       ", which gives it a value, is other Python"));
  }
  if (const auto* expr = value->As<Expr>(); expr != nullptr && !IsSmall(*expr)) {
    return Fail(e.offset, absl::StrCat("'", e.text, "' stands for an expression that is too large to repeat"));
  }
  if (const auto* cell = value->As<Cell>()) {
    out->data = cell->buffer.Load({Expr(0)});
    return true;
  }
  *out = *value;
  return true;
}

// metadata["ir.StringImm"][3]: a string that TVM prints elsewhere, or not at all. It stands for itself.
bool FunctionReader::EvalMetadata(const PyExpr& e, Value* out) {
  if (e.items.size() != 2 || e.items[1]->kind != Kind::kInt || e.items[0]->kind != Kind::kSubscript) return false;
  const PyExpr& group = *e.items[0];
  if (group.items.size() != 2 || group.items[1]->kind != Kind::kString || group.items[0]->kind != Kind::kName ||
      group.items[0]->text != "metadata" || Lookup("metadata") != nullptr) {
    return false;
  }
  out->data = absl::StrCat("metadata[", group.items[1]->text, "][", e.items[1]->integer, "]");
  return true;
}

// A.data, A.shape, A.strides, A.elem_offset, A.dtype, x.dtype
bool FunctionReader::EvalAttribute(const PyExpr& e, Value* out) {
  if (const auto name = DialectName(e)) {
    if (const auto dtype = DataType::Parse(*name)) {  // T.float32 as the name of a type
      out->data = *name;
      return true;
    }
    return Fail(e.offset, absl::StrCat("T.", *name, " is not a value; is its call missing?"));
  }
  Value base;
  if (!Eval(*e.items[0], &base)) return false;
  if (const auto* expr = base.As<Expr>(); expr != nullptr && e.text == "dtype") {
    out->data = expr->dtype().ToString();
    return true;
  }
  const auto* buffer = base.As<Buffer>();
  if (buffer == nullptr) return Fail(e.offset, absl::StrCat("there is no '.", e.text, "' of this"));
  const BufferNode& node = **buffer;
  if (e.text == "data") {
    out->data = Expr(node.data);
  } else if (e.text == "elem_offset") {
    out->data = node.elem_offset ? node.elem_offset : Expr(0);
  } else if (e.text == "dtype") {
    out->data = node.dtype.ToString();
  } else if (e.text == "shape" || e.text == "strides") {
    List list;
    for (const Expr& size : e.text == "shape" ? node.shape : node.strides) list.items.push_back(Value{size});
    out->data = std::move(list);
  } else {
    return Fail(e.offset,
                absl::StrCat("a buffer has no '.", e.text, "'; known are data, shape, strides, elem_offset and dtype"));
  }
  if (const auto* expr = out->As<Expr>(); expr != nullptr && !IsSmall(*expr)) {
    return Fail(e.offset, "this expression is too large to repeat");
  }
  return true;
}

bool FunctionReader::EvalSubscript(const PyExpr& e, Value* out) {
  if (EvalMetadata(e, out)) return true;
  Value base;
  if (!Eval(*e.items[0], &base)) return false;
  if (const auto* list = base.As<List>()) {
    int64_t index = 0;
    if (e.items.size() != 2 || e.items[1]->kind == Kind::kSlice) return Fail(e.offset, "expected one index");
    if (list->items.empty()) return Fail(e.offset, "this list is empty");
    const auto size = static_cast<int64_t>(list->items.size());
    if (!ReadInt(*e.items[1], -size, size - 1, &index)) return false;
    Value item = list->items[static_cast<size_t>(index < 0 ? index + size : index)];
    if (const auto* expr = item.As<Expr>(); expr != nullptr && !IsSmall(*expr)) {
      return Fail(e.offset, "this expression is too large to repeat");
    }
    *out = std::move(item);
    return true;
  }
  const auto* buffer = base.As<Buffer>();
  if (buffer == nullptr) return Fail(e.offset, "expected a buffer or a list before '['");
  std::vector<Expr> indices;
  if (!ReadIndices(e, *buffer, &indices)) return false;
  out->data = buffer->Load(std::move(indices));
  return true;
}

bool FunctionReader::ReadIndices(const PyExpr& subscript, const Buffer& buffer, std::vector<Expr>* out) {
  const bool no_index =
      subscript.items.size() == 2 && subscript.items[1]->kind == Kind::kTuple && subscript.items[1]->items.empty();
  const size_t count = no_index ? 0 : subscript.items.size() - 1;
  if (count != buffer->ndim()) {
    return Fail(subscript.offset, absl::StrCat("buffer '", buffer->name, "' has ", buffer->ndim(),
                                               buffer->ndim() == 1 ? " dimension, " : " dimensions, ", count,
                                               count == 1 ? " index is given" : " indices are given"));
  }
  int lanes = 1;
  for (size_t i = 0; i < count; ++i) {
    const PyExpr& item = *subscript.items[i + 1];
    Expr index;
    if (item.kind == Kind::kSlice) {
      if (!ReadAccessSlice(item, buffer->shape[i], &index)) return false;
    } else if (!(index = ReadIndex(item))) {
      return false;
    }
    if (index.dtype().lanes() > 1) {
      if (lanes > 1 && lanes != index.dtype().lanes()) {
        return Fail(item.offset, "the indices have different numbers of lanes");
      }
      lanes = index.dtype().lanes();
    }
    out->push_back(std::move(index));
  }
  if (int64_t{lanes} * buffer->dtype.lanes() > std::numeric_limits<uint16_t>::max()) {
    return Fail(subscript.offset, "too many lanes");
  }
  return true;
}

// A[4:8] as a value is a vector of four elements.
bool FunctionReader::ReadAccessSlice(const PyExpr& slice, const Expr& extent, Expr* out) {
  Expr start = slice.items[0] ? ReadIndex(*slice.items[0]) : Const(extent.dtype(), 0);
  Expr stop = slice.items[1] ? ReadIndex(*slice.items[1]) : extent;
  Expr step = slice.items[2] ? ReadIndex(*slice.items[2]) : Expr(1);
  if (!start || !stop || !step) return false;
  if (!start.dtype().is_scalar() || !stop.dtype().is_scalar() || !step.dtype().is_scalar()) {
    return Fail(slice.offset, "the bounds of a slice are scalars");
  }
  if (!Unify(&start, &stop, slice.offset)) return false;
  const auto length = AsInt(IntervalExtent(start, stop));
  const auto stride = AsInt(step);
  if (!length || !stride || *length <= 0 || *stride <= 0) {
    return Fail(slice.offset, "the slice of an access has a constant, positive length");
  }
  const int64_t lanes = (*length - 1) / *stride + 1;
  if (lanes > std::numeric_limits<uint16_t>::max()) return Fail(slice.offset, "too many lanes");
  if (!Unify(&start, &step, slice.offset)) return false;
  *out = Ramp(std::move(start), std::move(step), static_cast<int>(lanes));
  return true;
}

bool FunctionReader::EvalUnary(const PyExpr& e, Value* out) {
  Value operand;
  if (!Eval(*e.items[0], &operand)) return false;
  if (e.text == "not") {
    if (const auto* truth = operand.As<bool>()) {
      out->data = !*truth;
      return true;
    }
    Expr value = ToExpr(operand, e.offset);
    if (!value) return false;
    if (!value.dtype().is_bool()) {
      return Fail(e.offset, absl::StrCat("'not' of ", value.dtype().ToString(), "; expected a condition"));
    }
    out->data = Not(std::move(value));
    return true;
  }
  if (const auto* integer = operand.As<Integer>()) {
    out->data = e.text == "-" ? -*integer : e.text == "~" ? ~*integer : *integer;
    return true;
  }
  if (const auto* real = operand.As<double>(); real != nullptr && e.text != "~") {
    out->data = e.text == "-" ? -*real : *real;
    return true;
  }
  Expr value = ToExpr(operand, e.offset);
  if (!value) return false;
  const DataType type = value.dtype();
  if (e.text == "~") {
    if (!type.is_integer()) return Fail(e.offset, absl::StrCat("'~' of ", type.ToString()));
    out->data = Call(type, "bitwise_not", {value});
    return true;
  }
  if (!type.is_int() && !type.is_float()) {
    return Fail(e.offset, absl::StrCat("'", e.text, "' of ", type.ToString()));
  }
  // As TVM reads it; 0 - x would lose the sign of a floating-point zero.
  out->data = e.text == "-" ? value * Const(type, -1) : value;
  return true;
}

bool FunctionReader::EvalBinary(const PyExpr& e, Value* out) {
  Value a, b;
  if (!Eval(*e.items[0], &a) || !Eval(*e.items[1], &b)) return false;
  bool folded = false;
  if (!FoldBinary(e, a, b, out, &folded)) return false;
  if (folded) return true;
  Expr left = ToExpr(a, e.items[0]->offset);
  Expr right = left ? ToExpr(b, e.items[1]->offset) : Expr();
  if (!right) return false;
  Expr result = MakeOperator(e.text, std::move(left), std::move(right), e.offset);
  if (!result) return false;
  out->data = std::move(result);
  return true;
}

bool FunctionReader::ShiftFits(std::string_view call, const Expr& a, const Expr& b, uint32_t offset) {
  const auto* broadcast = dyn_cast<BroadcastNode>(b);
  const auto by = AsInt(broadcast != nullptr ? broadcast->value : b);
  if (!call.starts_with("shift_") || !by || (*by >= 0 && *by < a.dtype().bits())) return true;
  return Fail(offset, absl::StrCat("a shift of ", a.dtype().ToString(), " by ", *by, " bits; it has ", a.dtype().bits(),
                                   ", and shifts are by 0 to ", a.dtype().bits() - 1));
}

Expr FunctionReader::MakeOperator(const std::string& op, Expr a, Expr b, uint32_t offset) {
  static constexpr std::pair<std::string_view, std::string_view> kBitwise[] = {
      {"&", "bitwise_and"}, {"|", "bitwise_or"}, {"^", "bitwise_xor"}, {"<<", "shift_left"}, {">>", "shift_right"}};
  for (const auto& [text, name] : kBitwise) {
    if (text != op) continue;
    if (!Unify(&a, &b, offset)) return Expr();
    if (a.dtype().is_bool() && op.size() == 1 && op != "^") {
      return op == "&" ? And(std::move(a), std::move(b)) : Or(std::move(a), std::move(b));
    }
    if (a.dtype().is_bool() && op == "^") return MakeBinary(BinaryOp::kNE, std::move(a), std::move(b));
    if (!a.dtype().is_integer()) {
      Fail(offset, absl::StrCat("'", op, "' of ", a.dtype().ToString(), "; expected integers"));
      return Expr();
    }
    if (!ShiftFits(name, a, b, offset)) return Expr();
    const DataType type = a.dtype();
    return Call(type, std::string(name), {std::move(a), std::move(b)});
  }
  if (op == "**") {
    if (!Unify(&a, &b, offset)) return Expr();
    const DataType type = a.dtype();
    if (!type.is_float() && !type.is_integer()) {
      Fail(offset, absl::StrCat("'**' of ", type.ToString()));
      return Expr();
    }
    return Call(type, "pow", {std::move(a), std::move(b)});
  }
  const auto binary = OperatorOf(op);
  if (!binary) {
    Fail(offset, absl::StrCat("operator '", op, "' is not supported"));
    return Expr();
  }
  if (*binary == BinaryOp::kDiv) {
    if (!Unify(&a, &b, offset)) return Expr();
    if (!a.dtype().is_float()) {
      Fail(offset, absl::StrCat("'/' of ", a.dtype().ToString(), "; write // (rounds down) or T.truncdiv(a, b)"));
      return Expr();
    }
  }
  return MakeBinaryChecked(*binary, std::move(a), std::move(b), offset);
}

Expr FunctionReader::MakeBinaryChecked(BinaryOp op, Expr a, Expr b, uint32_t offset) {
  if (!Unify(&a, &b, offset)) return Expr();
  const DataType type = a.dtype();
  const bool number = type.is_integer() || type.is_float();
  const char* expected = nullptr;
  if (IsLogic(op)) {
    if (!type.is_bool()) expected = "conditions (bool)";
  } else if (op == BinaryOp::kEQ || op == BinaryOp::kNE) {
    if (!number && !type.is_bool()) expected = "numbers";
  } else if (op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod) {
    if (!type.is_integer()) expected = "integers";
  } else if (!number) {
    expected = "numbers";
  }
  if (expected != nullptr) {
    Fail(offset, absl::StrCat("operands of type ", type.ToString(), "; expected ", expected));
    return Expr();
  }
  return MakeBinary(op, std::move(a), std::move(b));
}

}  // namespace tilewright::script
