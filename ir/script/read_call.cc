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
  } else if (name == "load") {
    result = ReadFlatLoad(e);
  } else if (name == "comm_reducer") {
    result = ReadReducer(e);
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

// A number of lanes that depends on the machine: T.vscale() * 4.
bool FunctionReader::IsScalable(const PyExpr& lanes) const {
  if (CalledName(lanes) == "vscale") return true;
  return lanes.kind == Kind::kBinary && (IsScalable(*lanes.items[0]) || IsScalable(*lanes.items[1]));
}

// Vectors of such lengths are not a type of the IR: a call that has the type of an element.
Expr FunctionReader::ReadScalable(const char* op, std::vector<Expr> args, const PyExpr& lanes) {
  args.push_back(ReadIndex(lanes));
  if (!args.back()) return Expr();
  const DataType type = args[0].dtype();
  return Call(type, op, std::move(args));
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
    if (stride && IsScalable(*args["lanes"])) return ReadScalable("scalable_ramp", {base, stride}, *args["lanes"]);
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
    if (value && IsScalable(*args["lanes"])) return ReadScalable("scalable_broadcast", {value}, *args["lanes"]);
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
  // All bits: constants of 64 unsigned bits are kept as signed ones.
  if (dtype == DataType::UInt(64) && name == "max_value") return Const(dtype, -1);
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
  if (!Bind(e, {"a", "b", "span", "dtype"}, &args) || !Require(e, args, "a") || !Require(e, args, "b")) return Expr();
  Expr a = ReadExpr(*args["a"]);
  Expr b = a ? ReadExpr(*args["b"]) : Expr();
  if (!b) return Expr();
  return MakeBinaryChecked(op, std::move(a), std::move(b), e.offset);
}

Expr FunctionReader::ReadChoice(const PyExpr& e, bool lazy) {
  Arguments args;
  const bool ok =
      lazy ? Bind(e, {"cond", "t", "f", "dtype"}, &args) : Bind(e, {"condition", "true_value", "false_value"}, &args);
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
  LeaveFrame();
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

}  // namespace tilewright::script
