// Calls: of the dialect's functions (T.exp, T.Cast, ...) and of methods (A.access_ptr, x.astype).
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/builtin.h"
#include "ir/script/calls.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

constexpr std::pair<std::string_view, BinaryOp> kBinaryFunctions[] = {{"Add", BinaryOp::kAdd},
                                                                      {"Sub", BinaryOp::kSub},
                                                                      {"Mul", BinaryOp::kMul},
                                                                      {"Div", BinaryOp::kDiv},
                                                                      {"truncdiv", BinaryOp::kDiv},
                                                                      {"div", BinaryOp::kDiv},
                                                                      {"Mod", BinaryOp::kMod},
                                                                      {"truncmod", BinaryOp::kMod},
                                                                      {"FloorDiv", BinaryOp::kFloorDiv},
                                                                      {"floordiv", BinaryOp::kFloorDiv},
                                                                      {"FloorMod", BinaryOp::kFloorMod},
                                                                      {"floormod", BinaryOp::kFloorMod},
                                                                      {"Min", BinaryOp::kMin},
                                                                      {"min", BinaryOp::kMin},
                                                                      {"Max", BinaryOp::kMax},
                                                                      {"max", BinaryOp::kMax},
                                                                      {"EQ", BinaryOp::kEQ},
                                                                      {"NE", BinaryOp::kNE},
                                                                      {"LT", BinaryOp::kLT},
                                                                      {"LE", BinaryOp::kLE},
                                                                      {"GT", BinaryOp::kGT},
                                                                      {"GE", BinaryOp::kGE},
                                                                      {"And", BinaryOp::kAnd},
                                                                      {"Or", BinaryOp::kOr}};

double LargestFinite(DataType type) {
  // The largest value that rounds to itself: found from the bits, since each format has its own.
  double value = 1;
  while (CastTo(type, ConstFloat(type, value * 2)) &&
         std::isfinite(cast<FloatImmNode>(ConstFloat(type, value * 2))->value)) {
    value *= 2;
  }
  for (double step = value / 2; step > 0 && value + step > value; step /= 2) {
    const double rounded = cast<FloatImmNode>(ConstFloat(type, value + step))->value;
    if (rounded == value + step) value += step;
  }
  return value;
}

}  // namespace

bool FunctionReader::EvalCall(const PyExpr& e, Value* out) {
  const PyExpr& callee = *e.items[0];
  if (const auto name = DialectName(callee)) return EvalDialectCall(e, *name, out);
  bool is_method = false;
  if (callee.kind == Kind::kAttribute) {
    if (!EvalMethod(e, out, &is_method)) return false;
    if (is_method) return true;
  }
  if (callee.kind == Kind::kName) {
    const std::string& name = callee.text;
    Value first;
    if ((name == "float" || name == "int" || name == "bool") && e.items.size() == 2) {  // float("inf")
      if (!Eval(*e.items[1], &first)) return false;
      double value = 0;
      if (const auto* text = first.As<std::string>(); name == "float" && text != nullptr) {
        if (*text != "inf" && *text != "-inf" && *text != "nan") {
          return Fail(e.items[1]->offset, "expected \"inf\", \"-inf\" or \"nan\"");
        }
        value = *text == "nan"   ? std::numeric_limits<double>::quiet_NaN()
                : *text == "inf" ? std::numeric_limits<double>::infinity()
                                 : -std::numeric_limits<double>::infinity();
      } else if (const auto* real = first.As<double>(); name == "float" && real != nullptr) {
        value = *real;
      } else if (const auto* integer = first.As<Integer>(); integer != nullptr) {
        if (name == "float") {
          value = static_cast<double>(*integer);
        } else if (name == "int") {
          out->data = *integer;
          return true;
        } else {
          out->data = *integer != 0;
          return true;
        }
      } else {
        return Fail(e.offset, "expected a number; write T.cast(value, \"type\") for a conversion");
      }
      out->data = value;
      return true;
    }
    if (name == "min" || name == "max" || name == "abs") return EvalDialectCall(e, name, out);
    return Fail(e.offset, absl::StrCat("'", name, "' is not a function"));
  }
  return Fail(e.offset, "this is not a function");
}

bool FunctionReader::EvalDialectCall(const PyExpr& e, const std::string& name, Value* out) {
  Expr result;
  if (const auto dtype = DataType::Parse(name)) {
    result = ReadTypeCall(e, *dtype);
  } else if (const auto* op = std::find_if(std::begin(kBinaryFunctions), std::end(kBinaryFunctions),
                                           [&](const auto& function) { return function.first == name; });
             op != std::end(kBinaryFunctions)) {
    result = ReadBinaryCall(e, op->second);
  } else if (name == "if_then_else" || name == "Select") {
    result = ReadChoice(e, name == "if_then_else");
  } else if (name == "Let" || name == "let") {
    result = ReadLet(e, name);
  } else if (name == "Shuffle") {
    result = ReadShuffle(e);
  } else if (name == "call_intrin") {
    result = ReadCallIntrin(e);
  } else if (name == "Cast" || name == "cast") {
    Arguments args;
    DataType type;
    const bool ok = name == "Cast" ? Bind(e, {"dtype", "value"}, &args) : Bind(e, {"value", "dtype", "span"}, &args);
    if (!ok || !Require(e, args, "dtype") || !Require(e, args, "value")) return false;
    if (!ReadTypeName(*args["dtype"], &type)) return false;
    result = ReadCast(*args["value"], type, e.offset, name == "Cast");
  } else if (name == "Not" || name == "ceildiv" || name == "max_value" || name == "min_value" || name == "infinity" ||
             name == "Ramp" || name == "ramp" || name == "Broadcast" || name == "broadcast" || name == "StringImm" ||
             name == "IntImm" || name == "FloatImm") {
    result = ReadSmallCall(e, name);
  } else {
    result = ReadSpelledCall(e, name);
  }
  if (!result) return false;
  out->data = std::move(result);
  return true;
}

// T.Not, T.ceildiv, T.Ramp, T.Broadcast, T.max_value, T.min_value, T.infinity, T.IntImm, T.FloatImm, T.StringImm
Expr FunctionReader::ReadSmallCall(const PyExpr& e, const std::string& name) {
  Arguments args;
  if (name == "Not") {
    if (!Bind(e, {"a"}, &args) || !Require(e, args, "a")) return Expr();
    Expr value = ReadExpr(*args["a"]);
    if (value && !value.dtype().is_bool()) Fail(e.offset, "expected a condition (bool)");
    return value && value.dtype().is_bool() ? Not(std::move(value)) : Expr();
  }
  if (name == "ceildiv") {
    if (!Bind(e, {"lhs", "rhs"}, &args) || !Require(e, args, "lhs") || !Require(e, args, "rhs")) return Expr();
    Expr a = ReadIndex(*args["lhs"]);
    Expr b = a ? ReadIndex(*args["rhs"]) : Expr();
    if (!b || !Unify(&a, &b, e.offset)) return Expr();
    const auto x = AsInt(a), y = AsInt(b);
    if (x && y && *x > 0 && *y > 0) return Const(a.dtype(), (*x - 1) / *y + 1);
    return FloorDiv(y ? a + Const(b.dtype(), *y - 1) : a + b - Const(b.dtype(), 1), b);
  }
  if (name == "Ramp" || name == "ramp") {
    if (!Bind(e, {"base", "stride", "lanes"}, &args)) return Expr();
    for (const char* argument : {"base", "stride", "lanes"}) {
      if (!Require(e, args, argument)) return Expr();
    }
    int64_t lanes = 0;
    Expr base = ReadIndex(*args["base"]);
    Expr stride = base ? ReadIndex(*args["stride"]) : Expr();
    if (!stride || !ReadInt(*args["lanes"], 1, 4096, &lanes) || !Unify(&base, &stride, e.offset)) return Expr();
    if (!base.dtype().is_scalar()) {
      Fail(e.offset, "expected a scalar base and stride");
      return Expr();
    }
    return Ramp(std::move(base), std::move(stride), static_cast<int>(lanes));
  }
  if (name == "Broadcast" || name == "broadcast") {
    if (!Bind(e, {"value", "lanes"}, &args) || !Require(e, args, "value") || !Require(e, args, "lanes")) return Expr();
    int64_t lanes = 0;
    Expr value = ReadExpr(*args["value"]);
    if (!value || !ReadInt(*args["lanes"], 1, 4096, &lanes)) return Expr();
    if (value.dtype().is_handle() || value.dtype().is_void()) {
      Fail(e.offset, "expected a number or a vector of numbers");
      return Expr();
    }
    return Broadcast(std::move(value), static_cast<int>(lanes));
  }
  if (name == "StringImm") {
    std::string text;
    if (!Bind(e, {"value"}, &args) || !Require(e, args, "value") || !ReadString(*args["value"], &text)) return Expr();
    return String(std::move(text));
  }
  DataType dtype;
  if (name == "IntImm" || name == "FloatImm") {
    if (!Bind(e, {"dtype", "value"}, &args) || !Require(e, args, "dtype") || !Require(e, args, "value")) return Expr();
    if (!ReadTypeName(*args["dtype"], &dtype)) return Expr();
    Expr value = ReadExpr(*args["value"]);
    return value && ConvertImmediate(&value, dtype, e.offset) ? value : Expr();
  }
  if (!Bind(e, {"dtype"}, &args) || !Require(e, args, "dtype") || !ReadTypeName(*args["dtype"], &dtype)) return Expr();
  const bool number = dtype.is_float() || (dtype.is_integer() && name != "infinity");
  if (!number || !dtype.is_scalar()) {
    Fail(e.offset, absl::StrCat("T.", name, " of ", dtype.ToString()));
    return Expr();
  }
  if (name == "infinity") return ConstFloat(dtype, std::numeric_limits<double>::infinity());
  if (dtype.is_integer()) return Const(dtype, name == "max_value" ? MaxValue(dtype) : MinValue(dtype));
  return ConstFloat(dtype, name == "max_value" ? LargestFinite(dtype) : -LargestFinite(dtype));
}

// T.float32(0.5), T.float32("inf"), T.int64(n), T.bool(True): an immediate, or a conversion.
Expr FunctionReader::ReadTypeCall(const PyExpr& e, DataType dtype) {
  Arguments args;
  if (!Bind(e, {"value", "is_size_var"}, &args)) return Expr();
  if (args["value"] == nullptr) {
    Fail(e.offset,
         absl::StrCat("T.", dtype.ToString(), "() makes a variable: write NAME = T.", dtype.ToString(), "()"));
    return Expr();
  }
  const PyExpr& argument = *args["value"];
  Value value;
  if (!Eval(argument, &value)) return Expr();
  if (dtype.is_handle() || dtype.is_void()) {
    Fail(e.offset, absl::StrCat("T.", dtype.ToString(), " is not a conversion"));
    return Expr();
  }
  if (const auto* text = value.As<std::string>()) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (dtype.is_float() && (*text == "inf" || *text == "-inf")) {
      return ConstFloat(dtype, *text == "inf" ? infinity : -infinity);
    }
    if (dtype.is_float() && (*text == "nan" || *text == "-nan")) {
      return ConstFloat(dtype, std::copysign(std::numeric_limits<double>::quiet_NaN(), *text == "nan" ? 1.0 : -1.0));
    }
    Fail(argument.offset, "expected a number");
    return Expr();
  }
  if (const auto* integer = value.As<Integer>(); integer != nullptr && dtype.is_integer()) {
    const Integer greatest =
        dtype.is_uint() && dtype.bits() == 64 ? (Integer{1} << 64) - 1 : Integer{MaxValue(dtype.element())};
    if (*integer < MinValue(dtype.element()) || *integer > greatest) {
      Fail(argument.offset, absl::StrCat("this integer does not fit into ", dtype.ToString()));
      return Expr();
    }
    return Const(dtype, static_cast<int64_t>(*integer));
  }
  if (const auto* integer = value.As<Integer>(); integer != nullptr && dtype.is_bool()) {
    return Const(dtype, *integer != 0 ? 1 : 0);
  }
  // Python numbers keep all their digits until they are rounded to the type.
  if (const auto* real = value.As<double>(); real != nullptr && dtype.is_float()) return ConstFloat(dtype, *real);
  if (const auto* integer = value.As<Integer>(); integer != nullptr && dtype.is_float()) {
    return ConstFloat(dtype, static_cast<double>(*integer));
  }
  return ReadCast(argument, dtype, e.offset, false);
}

Expr FunctionReader::ReadCast(const PyExpr& value, DataType dtype, uint32_t offset, bool keep_immediate) {
  Expr from = ReadExpr(value);
  if (!from) return Expr();
  const DataType type = from.dtype();
  if (dtype.lanes() == 1 && type.lanes() > 1) dtype = dtype.with_lanes(type.lanes());
  const bool convertible = !type.is_handle() && !type.is_void() && !dtype.is_handle() && !dtype.is_void();
  if (!convertible || type.lanes() != dtype.lanes()) {
    Fail(offset, absl::StrCat("there is no conversion from ", type.ToString(), " to ", dtype.ToString()));
    return Expr();
  }
  if (keep_immediate) return Expr(new CastNode(dtype, std::move(from)));
  return CastTo(dtype, std::move(from));
}

Expr FunctionReader::ReadBinaryCall(const PyExpr& e, BinaryOp op) {
  Arguments args;
  if (!Bind(e, {"a", "b", "span"}, &args) || !Require(e, args, "a") || !Require(e, args, "b")) return Expr();
  Expr a = ReadExpr(*args["a"]);
  Expr b = a ? ReadExpr(*args["b"]) : Expr();
  if (!b) return Expr();
  return MakeBinaryChecked(op, std::move(a), std::move(b), e.offset);
}

Expr FunctionReader::ReadChoice(const PyExpr& e, bool lazy) {
  Arguments args;
  const bool ok =
      lazy ? Bind(e, {"cond", "t", "f"}, &args) : Bind(e, {"condition", "true_value", "false_value"}, &args);
  if (!ok) return Expr();
  const char* names[2][3] = {{"condition", "true_value", "false_value"}, {"cond", "t", "f"}};
  for (const char* name : names[lazy]) {
    if (!Require(e, args, name)) return Expr();
  }
  Expr condition = ReadExpr(*args[names[lazy][0]]);
  Expr a = condition ? ReadExpr(*args[names[lazy][1]]) : Expr();
  Expr b = a ? ReadExpr(*args[names[lazy][2]]) : Expr();
  if (!b || !Unify(&a, &b, e.offset)) return Expr();
  const DataType type = condition.dtype();
  if (!type.is_bool() || (type.lanes() != 1 && type.lanes() != a.dtype().lanes())) {
    Fail(e.offset, absl::StrCat("expected a condition (bool), found ", type.ToString()));
    return Expr();
  }
  if (lazy) return IfThenElse(std::move(condition), std::move(a), std::move(b));
  return Select(std::move(condition), std::move(a), std::move(b));
}

// T.Let(body, where={x: value}) or T.let(x, value, body). The name is new, or one made by x = T.int32().
Expr FunctionReader::ReadLet(const PyExpr& e, const std::string& name) {
  Arguments args;
  const PyExpr* var = nullptr;
  const PyExpr* bound = nullptr;
  const PyExpr* body = nullptr;
  if (name == "Let" && e.items.size() == 2) {
    if (!Bind(e, {"expr", "where"}, &args) || !Require(e, args, "expr") || !Require(e, args, "where")) return Expr();
    const PyExpr& where = *args["where"];
    if (where.kind != Kind::kDict || where.items.size() != 2) {
      Fail(where.offset, "expected one binding: {name: value}");
      return Expr();
    }
    body = args["expr"];
    var = where.items[0].get();
    bound = where.items[1].get();
  } else {
    if (!Bind(e, {"var", "value", "body"}, &args)) return Expr();
    for (const char* argument : {"var", "value", "body"}) {
      if (!Require(e, args, argument)) return Expr();
    }
    var = args["var"];
    bound = args["value"];
    body = args["body"];
  }
  if (var->kind != Kind::kName) {
    Fail(var->offset, "expected a name");
    return Expr();
  }
  Expr value = ReadExpr(*bound);
  if (!value) return Expr();
  frames_.emplace_back();
  Var fresh(var->text, value.dtype());
  Define(var->text, var->offset, Value{Expr(fresh)});
  Expr result = ReadExpr(*body);
  frames_.pop_back();
  if (!result || error_) return Expr();
  return Expr(new LetNode(fresh, std::move(value), std::move(result)));
}

Expr FunctionReader::ReadShuffle(const PyExpr& e) {
  Arguments args;
  if (!Bind(e, {"vectors", "indices"}, &args) || !Require(e, args, "vectors") || !Require(e, args, "indices")) {
    return Expr();
  }
  std::vector<Expr> vectors;
  if (!ReadExprs(args["vectors"]->items, 0, &vectors)) return Expr();
  if (args["vectors"]->kind != Kind::kList || vectors.empty() || args["indices"]->kind != Kind::kList ||
      args["indices"]->items.empty()) {
    Fail(e.offset, "expected T.Shuffle([vectors], [indices])");
    return Expr();
  }
  int64_t lanes = 0;
  for (const Expr& vector : vectors) {
    if (vector.dtype().element() != vectors[0].dtype().element() || vector.dtype().is_handle()) {
      Fail(e.offset, "the vectors of a shuffle have one type");
      return Expr();
    }
    lanes += vector.dtype().lanes();
  }
  std::vector<int> indices;
  for (const PyExprPtr& item : args["indices"]->items) {
    int64_t index = 0;
    if (!ReadInt(*item, 0, lanes - 1, &index)) return Expr();
    indices.push_back(static_cast<int>(index));
  }
  if (indices.size() > 4096) {
    Fail(e.offset, "too many lanes");
    return Expr();
  }
  return Expr(new ShuffleNode(std::move(vectors), std::move(indices)));
}

bool FunctionReader::ReadTypedArguments(const PyExpr& e, DataType* dtype, std::vector<Expr>* args) {
  const PyExpr* type = nullptr;
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (e.keywords[i] != "dtype") {
      return Fail(e.keyword_offsets[i], absl::StrCat("unexpected argument '", e.keywords[i], "'"));
    }
    type = e.keyword_values[i].get();
  }
  size_t first = 1;
  if (type == nullptr) {
    if (e.items.size() < 2) return Fail(e.offset, "expected a type as the first argument");
    type = e.items[1].get();
    first = 2;
  }
  if (!ReadTypeName(*type, dtype)) return false;
  for (size_t i = first; i < e.items.size(); ++i) {
    Expr arg = ReadData(*e.items[i]);
    if (!arg) return false;
    args->push_back(std::move(arg));
  }
  return true;
}

// T.call_intrin("float32", "name", ...): any call.
Expr FunctionReader::ReadCallIntrin(const PyExpr& e) {
  DataType dtype;
  std::vector<Expr> args;
  if (!ReadTypedArguments(e, &dtype, &args)) return Expr();
  const auto* name = args.empty() ? nullptr : dyn_cast<StringImmNode>(args[0]);
  if (name == nullptr) {
    Fail(e.offset, "expected the name of an intrinsic after the type");
    return Expr();
  }
  std::string op = name->value;
  for (std::string_view prefix : {"tirx.", "tir."}) {
    if (op.size() > prefix.size() && op.compare(0, prefix.size(), prefix) == 0) op = op.substr(prefix.size());
  }
  args.erase(args.begin());
  if (const Builtin* builtin = FindBuiltin(op)) {
    const auto count = static_cast<int>(args.size());
    if (count < builtin->min_args || (builtin->max_args >= 0 && count > builtin->max_args)) {
      Fail(e.offset, absl::StrCat("'", op, "' with ", count, " arguments"));
      return Expr();
    }
  }
  return Call(dtype, std::move(op), std::move(args));
}

Expr FunctionReader::ReadSpelledCall(const PyExpr& e, const std::string& name) {
  const CallSpelling* spelling = FindSpelling(name);
  if (spelling == nullptr) {
    Fail(e.items[0]->offset,
         absl::StrCat("T.", name, " is not known; T.call_intrin(\"type\", \"", name, "\", ...) calls any intrinsic"));
    return Expr();
  }
  std::vector<Expr> args;
  std::optional<DataType> dtype;
  // T.reinterpret(value, "type") is written too.
  const bool type_last = name == "reinterpret" && e.items.size() == 3 && e.items[1]->kind != Kind::kString;
  if (type_last) {
    DataType type;
    if (!ReadTypeName(*e.items[2], &type)) return Expr();
    dtype = type;
    args.push_back(ReadExpr(*e.items[1]));
    if (!args[0]) return Expr();
  } else if (spelling->rule == ResultRule::kTypeFirst) {
    DataType type;
    if (!ReadTypedArguments(e, &type, &args)) return Expr();
    dtype = type;
  } else {
    if (!e.keywords.empty()) {
      Fail(e.keyword_offsets[0], absl::StrCat("unexpected argument '", e.keywords[0], "'"));
      return Expr();
    }
    for (size_t i = 1; i < e.items.size(); ++i) {
      Expr arg = ReadData(*e.items[i]);
      if (!arg) return Expr();
      args.push_back(std::move(arg));
    }
  }
  const auto count = static_cast<int>(args.size());
  if (count < spelling->min_args || (spelling->max_args >= 0 && count > spelling->max_args)) {
    Fail(e.offset,
         absl::StrCat("T.", name, " takes ", spelling->min_args,
                      spelling->max_args == spelling->min_args ? "" : " or more", " arguments, found ", count));
    return Expr();
  }
  const bool uniform = spelling->rule == ResultRule::kFloat || spelling->rule == ResultRule::kNumber ||
                       spelling->rule == ResultRule::kInteger;
  for (size_t pass = 0; uniform && pass < 2; ++pass) {  // twice, so that the first takes the type of the last
    for (size_t i = 1; i < args.size(); ++i) {
      if (!Unify(&args[0], &args[i], e.offset)) return Expr();
    }
  }
  if (!dtype) dtype = ResultType(spelling->rule, args);
  if (!dtype) {
    const bool of_float = spelling->rule == ResultRule::kFloat || spelling->rule == ResultRule::kTest;
    Fail(e.offset,
         absl::StrCat("T.", name, " of ", args.empty() ? "nothing" : args[0].dtype().ToString(), "; expected ",
                      of_float                                 ? "a floating-point number"
                      : spelling->rule == ResultRule::kInteger ? "an integer"
                                                               : "a number"));
    return Expr();
  }
  return Call(*dtype, std::string(spelling->op), std::move(args));
}

}  // namespace tilewright::script
