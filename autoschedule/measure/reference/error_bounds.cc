#include "autoschedule/measure/reference/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "ir/builtin.h"
#include "ir/expand_call.h"

namespace tilewright {
namespace {

// Half units in the last place that a function of the math library may be off by: 4 whole ones.
constexpr double kFunctionRoundings = 8;

double LargestOf(DataType type) {
  switch (type.code()) {
    case TypeCode::kE4M3:
      return 448;
    case TypeCode::kE5M2:
      return 57344;
    case TypeCode::kBFloat:
      return 0x1.fep127;
    default:
      return type.bits() == 16 ? 65504 : 0x1.fffffep127;
  }
}

// Whether every value of `from` is one of `to`.
bool Holds(DataType to, DataType from) {
  if (!to.is_float()) return true;
  const int digits = 1 - std::ilogb(UnitRoundoff(to)) - 1;
  if (!from.is_float()) return from.is_bool() || from.bits() <= digits;
  return from == to || (to.bits() > from.bits() && to.bits() >= 32);
}

Expr Sum(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }

Expr Either(const Expr& a, const Expr& b) { return !a ? b : !b ? a : Or(a, b); }

Expr Largest(const Expr& a, const Expr& b) { return !a ? b : !b ? a : Max(a, b); }

Expr OrZero(const Expr& error) { return error ? error : Double(0); }

// A divisor behind a condition that rounding may turn is zero where the condition does not hold.
Expr NotZero(const Expr& divisor) {
  if (isa<IntImmNode>(divisor)) return divisor;
  const DataType type = divisor.dtype();
  return Select(divisor == Const(type, 0), Const(type, 1), divisor);
}

Expr Difference(const Expr& a, const Expr& b) { return CastTo(kDouble, a) - CastTo(kDouble, b); }

// Functions that round to integers.
bool IsExact(std::string_view function) {
  return function == "floor" || function == "ceil" || function == "trunc" || function == "round" ||
         function == "round_away" || function == "nearbyint";
}

bool IsTwo(const Expr& e) {
  const auto* number = dyn_cast<FloatImmNode>(e);
  return number != nullptr && number->value == 2;
}

// The error of `value` after it is rounded to `type`, when it has `error` before.
Expr Rounded(const Expr& value, const Expr& error, DataType type, double roundings = 1) {
  if (!type.is_float()) return error;
  const Expr own = Double(roundings * UnitRoundoff(type)) * Magnitude(value);
  return error ? error * Double(1 + roundings * UnitRoundoff(type)) + own : own;
}

// How far a function that is monotone in both of its arguments goes when they move by their errors.
Expr OfCorners(const std::vector<Bounded>& args, const Expr& middle,
               const std::function<Expr(std::vector<Expr>)>& function) {
  if (!args[0].error && !args[1].error) return {};
  Expr farthest = Double(0);
  for (const int i : {-1, 1}) {
    for (const int j : {-1, 1}) {
      const Expr corner = function(
          {args[0].value + Double(i) * OrZero(args[0].error), args[1].value + Double(j) * OrZero(args[1].error)});
      farthest = Max(farthest, Magnitude(Difference(corner, middle)));
    }
  }
  return farthest;
}

Bounded Choose(const Bounded& condition, const Bounded& a, const Bounded& b) {
  const Expr value = Select(condition.value, a.value, b.value);
  if (value.dtype().is_bool()) return {value, Either(condition.error, Either(a.error, b.error))};
  Expr error;
  if (a.error || b.error) error = Select(condition.value, OrZero(a.error), OrZero(b.error));
  if (!condition.error) return {value, error};
  const Expr either = Magnitude(Difference(a.value, b.value)) + OrZero(Largest(a.error, b.error));
  return {value, Select(condition.error, either, OrZero(error))};
}

// Each side is evaluated only where it is chosen, or where rounding may choose it.
Bounded ChooseApart(const Bounded& condition, const Bounded& a, const Bounded& b) {
  Bounded result{IfThenElse(condition.value, a.value, b.value), {}};
  if (result.value.dtype().is_bool()) {
    const Expr of_a = a.error ? a.error : False(), of_b = b.error ? b.error : False();
    if (a.error || b.error) result.error = IfThenElse(condition.value, of_a, of_b);
    return {result.value, Either(condition.error, result.error)};
  }
  if (a.error || b.error) result.error = IfThenElse(condition.value, OrZero(a.error), OrZero(b.error));
  if (!condition.error) return result;
  const Expr either = Magnitude(Difference(a.value, b.value)) + OrZero(Largest(a.error, b.error));
  return {result.value, IfThenElse(condition.error, either, OrZero(result.error))};
}

}  // namespace

Expr Double(double value) { return ConstFloat(kDouble, value); }

Expr Magnitude(const Expr& e) { return Call(kDouble, "abs", {CastTo(kDouble, e)}); }

double UnitRoundoff(DataType type) {
  switch (type.code()) {
    case TypeCode::kBFloat:
      return 0x1p-8;
    case TypeCode::kE4M3:
      return 0x1p-4;
    case TypeCode::kE5M2:
      return 0x1p-3;
    default:
      return type.bits() == 16 ? 0x1p-11 : type.bits() == 32 ? 0x1p-24 : 0x1p-53;
  }
}

void ErrorBounds::Refuse(std::string_view what) {
  if (refusal_.empty()) refusal_ = std::string(what);
}

// Something of the type that `e` would have.
Bounded ErrorBounds::Refused(std::string_view what, const Expr& e) {
  Refuse(what);
  const DataType type = e.dtype().element();
  return {type.is_bool() || type.is_integer() ? Const(type, 0) : Double(0), {}};
}

Expr ErrorBounds::Bind(const Expr& e) {
  if (!e || isa<VarNode>(e) || isa<IntImmNode>(e) || isa<FloatImmNode>(e)) return e;
  Var var("t", e.dtype());
  bindings_.emplace_back(var, e);
  return var;
}

Bounded ErrorBounds::BindVar(const Var& var, const Bounded& value) {
  Bounded bound{Var(var.name(), value.value.dtype()), {}};
  if (value.error) bound.error = Var(var.name() + "_error", value.error.dtype());
  return vars_[var.get()] = bound;
}

// Nothing of it is evaluated elsewhere.
Bounded ErrorBounds::VisitApart(const Expr& e) {
  std::vector<std::pair<Var, Expr>> own;
  std::swap(own, bindings_);
  Bounded result = Visit(e);
  std::swap(own, bindings_);
  for (size_t i = own.size(); i-- > 0;) {
    const auto let = [&](const Expr& body) { return Expr(new LetNode(own[i].first, own[i].second, body)); };
    result.value = let(result.value);
    if (result.error) result.error = let(result.error);
  }
  return result;
}

void ErrorBounds::Overflow(DataType type, Expr* value, Expr* error) {
  if (!type.is_float() || type.bits() == 64) return;
  *value = Bind(*value);
  if (*error) *error = Bind(*error);
  const bool has_infinity = type.code() != TypeCode::kE4M3;
  const Expr most = Double(LargestOf(type)), infinity = Call(kDouble, "infinity", {});
  const Expr magnitude = Magnitude(*value);
  const Expr beyond = has_infinity ? Call(kDouble, "copysign", {infinity, *value}) : infinity - infinity;
  if (*error) *error = Select(Magnitude(magnitude - most) <= *error, infinity, *error);
  *value = Select(most < magnitude, beyond, *value);
}

Bounded ErrorBounds::Visit(const Expr& e) {
  switch (e->kind()) {
    case Kind::kIntImm:
      return {e, {}};
    case Kind::kFloatImm:
      return {Double(cast<FloatImmNode>(e)->value), {}};
    case Kind::kVar: {
      const auto found = vars_.find(cast<VarNode>(e));
      if (found != vars_.end()) return found->second;
      return {e.dtype().is_float() ? CastTo(kDouble, e) : e, {}};
    }
    case Kind::kNot: {
      const Bounded a = Visit(cast<NotNode>(e)->a);
      return {Not(a.value), a.error};
    }
    case Kind::kBinary:
      return VisitBinary(cast<BinaryNode>(e));
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      return Choose(Bind(Visit(op->condition)), Bind(Visit(op->true_value)), Bind(Visit(op->false_value)));
    }
    case Kind::kCast:
      return VisitCast(cast<CastNode>(e));
    case Kind::kLoad:
      return VisitLoad(cast<LoadNode>(e));
    case Kind::kLet: {
      const auto* op = cast<LetNode>(e);
      vars_[op->var.get()] = Bind(Visit(op->value));
      return Visit(op->body);
    }
    case Kind::kCall:
      return VisitCall(cast<CallNode>(e));
    default:
      return Refused("a vector operation", e);
  }
}

Bounded ErrorBounds::VisitLoad(const LoadNode* op) {
  if (op->predicate) Refuse("a vector operation");
  const BoundedBuffer pair = find_buffer_(op->buffer);
  std::vector<Expr> indices;
  Expr elsewhere;  // whether rounding may have it read another element
  for (const Expr& index : op->indices) {
    const Bounded at = VisitApart(index);
    indices.push_back(at.value);
    if (!at.error) continue;
    const Expr moves = Double(0) < at.error;
    elsewhere = elsewhere ? Or(elsewhere, moves) : moves;
  }
  const Expr value = pair.value.Load(indices);
  Expr error = pair.error ? pair.error.Load(indices) : Expr();
  if (elsewhere) error = Select(elsewhere, Double(kUnbounded), OrZero(error));
  if (error && op->dtype().is_bool()) error = Double(0) < error;
  return {op->dtype().is_float() ? CastTo(kDouble, value) : value, error};
}

// The second operand is evaluated only where the first, or what rounding may make of it, does not decide.
Bounded ErrorBounds::VisitLogic(const BinaryNode* op) {
  const Bounded a = Bind(Visit(op->a)), b = VisitApart(op->b);
  const Expr value = MakeBinary(op->op, a.value, b.value);
  if (!b.error) return {value, a.error};
  const Expr asks = op->op == BinaryOp::kAnd ? a.value : Not(a.value);
  const Expr of_b = And(asks, b.error);
  return {value, a.error ? Or(a.error, of_b) : of_b};
}

Bounded ErrorBounds::DividedFloats(const BinaryNode* op, const Bounded& a, const Bounded& b, const Expr& value) {
  Expr error = a.error;
  if (b.error) error = Sum(error, Magnitude(value) * b.error);
  const Expr least = b.error ? Bind(Magnitude(b.value) - b.error) : Magnitude(b.value);
  if (error) error = Select(least > Double(0), Div(error, least), Double(kUnbounded));
  return {value, Rounded(value, error, op->dtype())};
}

Bounded ErrorBounds::VisitBinary(const BinaryNode* op) {
  if (IsLogic(op->op)) return VisitLogic(op);
  Bounded a = Visit(op->a), b = Visit(op->b);
  const bool is_float = op->a.dtype().is_float();
  if (!is_float && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod) b.value = NotZero(Bind(b.value));
  if (!is_float && !a.error && !b.error) return {MakeBinary(op->op, a.value, b.value), {}};
  a = Bind(a);
  b = Bind(b);
  const Expr value = Bind(MakeBinary(op->op, a.value, b.value));
  if (a.value.dtype().is_bool()) return {value, Either(a.error, b.error)};
  const Expr errors = Sum(a.error, b.error);
  if (is_float && op->op == BinaryOp::kDiv) return DividedFloats(op, a, b, value);
  if (IsComparison(op->op)) {
    if (!errors) return {value, {}};
    const Expr bound = Bind(errors);  // 0 where both are exact after all
    return {value, And(Double(0) < bound, Magnitude(Difference(a.value, b.value)) <= bound)};
  }
  switch (op->op) {
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return {value, Largest(a.error, b.error)};
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      // 0 - x is how a sign is changed.
      const auto* zero = dyn_cast<FloatImmNode>(a.value);
      if (op->op == BinaryOp::kSub && zero != nullptr && zero->value == 0) return {value, b.error};
      return {value, Rounded(value, errors, op->dtype())};
    }
    case BinaryOp::kMul: {
      Expr error;
      if (b.error) error = Magnitude(a.value) * b.error;
      if (a.error) error = Sum(error, Magnitude(b.value) * a.error);
      if (a.error && b.error) error = error + a.error * b.error;
      return {value, Rounded(value, error, op->dtype())};
    }
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      if (!is_float && !b.error) {
        // Both roundings of quotients are monotone.
        const Expr divisor = CastTo(kDouble, b.value);
        return {value, Spread({CastTo(kDouble, a.value), a.error}, [&](const Expr& x) {
                  return Call(kDouble, op->op == BinaryOp::kDiv ? "trunc" : "floor", {Div(x, divisor)});
                })};
      }
      break;
    case BinaryOp::kMod:
    case BinaryOp::kFloorMod:
      // Less than the divisor, whatever the dividend.
      if (!is_float && !b.error) return {value, Select(Double(0) < a.error, Magnitude(b.value), Double(0))};
      break;
    default:
      break;
  }
  if (!is_float) return {value, Select(Double(0) < errors, Double(kUnbounded), Double(0))};
  return Refuse("a quotient rounded down of floating-point numbers"), Bounded{value, {}};
}

Bounded ErrorBounds::VisitCast(const CastNode* op) {
  const DataType to = op->dtype(), from = op->value.dtype();
  Bounded a = Bind(Visit(op->value));
  if (a.error && to.is_bool()) return {CastTo(to, a.value), from.is_bool() ? a.error : Magnitude(a.value) <= a.error};
  if (a.error && from.is_bool()) a.error = Select(a.error, Double(1), Double(0));
  if (to.is_float()) {
    Bounded result{Bind(CastTo(kDouble, a.value)), a.error};
    if (!Holds(to, from)) result.error = Rounded(result.value, a.error, to);
    if (!Holds(to, from)) Overflow(to, &result.value, &result.error);
    return result;
  }
  const Expr value = CastTo(to, a.value);
  if (!from.is_float() || !a.error) return {value, a.error};
  return {value, Spread(a, [](const Expr& x) { return Call(kDouble, "trunc", {x}); })};
}

// How far a monotone function goes when its argument moves by its error.
Expr ErrorBounds::Spread(const Bounded& a, const std::function<Expr(const Expr&)>& function) {
  const Expr middle = Bind(function(a.value));
  return Max(Magnitude(Difference(function(a.value + a.error), middle)),
             Magnitude(Difference(function(a.value - a.error), middle)));
}

Bounded ErrorBounds::VisitCall(const CallNode* op) {
  if (op->op == kIfThenElse) {
    const Bounded condition = Bind(Visit(op->args[0]));
    return ChooseApart(condition, VisitApart(op->args[1]), VisitApart(op->args[2]));
  }
  if (op->op == "likely") return Visit(op->args[0]);
  if (op->op == "infinity") return {Call(kDouble, "infinity", {}), {}};
  if (const Expr whole = ExpandCall(op)) return Visit(whole);
  const bool is_float = op->dtype().is_float();
  if (op->op == "fma" && is_float) return Visit(op->args[0] * op->args[1] + op->args[2]);
  if (op->op == "pow" && is_float && IsTwo(op->args[1])) return Visit(op->args[0] * op->args[0]);
  if (op->op == "reinterpret") return VisitReinterpret(op);
  const Builtin* builtin = FindBuiltin(op->op);
  if (builtin == nullptr || builtin->effect != CallEffect::kPure || op->op == kCallPureExtern ||
      op->op == "call_llvm_pure_intrin" || op->op == "nextafter") {
    return Refused("a call of " + op->op, Expr(op));
  }
  std::vector<Bounded> args;
  bool inexact = false;
  for (const Expr& arg : op->args) {
    args.push_back(Bind(Visit(arg)));
    inexact = inexact || args.back().error;
  }
  if (op->args[0].dtype().is_float() && op->dtype().is_bool()) return OfClass(op, args[0]);
  return is_float ? FloatFunction(op, args) : IntegerFunction(op, args, inexact);
}

// Bits of a value that is not rounded.
Bounded ErrorBounds::VisitReinterpret(const CallNode* op) {
  const DataType from = op->args[0].dtype();
  const Bounded a = Visit(op->args[0]);
  if (a.error || from.lanes() != 1 || op->dtype().lanes() != 1) return Refused("a call of reinterpret", Expr(op));
  const Expr bits = Call(op->dtype(), "reinterpret", {CastTo(from, a.value)});
  return {op->dtype().is_float() ? CastTo(kDouble, bits) : bits, {}};
}

// isnan, isinf, isfinite: in the range of the type; an infinite error says that it may be infinite or not.
Bounded ErrorBounds::OfClass(const CallNode* op, Bounded a) {
  Overflow(op->args[0].dtype(), &a.value, &a.error);
  const Expr value = Call(op->dtype(), op->op, {a.value});
  if (!a.error || op->op == "isnan") return {value, {}};
  return {value, Call(DataType::Bool(), "isinf", {a.error})};
}

Bounded ErrorBounds::IntegerFunction(const CallNode* op, const std::vector<Bounded>& args, bool inexact) {
  if (inexact) return Refused("a call of " + op->op + " with a rounded value", Expr(op));
  std::vector<Expr> values;
  for (const Bounded& arg : args) values.push_back(arg.value);
  return {Call(op->dtype(), op->op, std::move(values)), {}};
}

Bounded ErrorBounds::FloatFunction(const CallNode* op, const std::vector<Bounded>& args) {
  const auto function = [&](std::vector<Expr> values) { return Call(kDouble, op->op, std::move(values)); };
  std::vector<Expr> values;
  for (const Bounded& arg : args) values.push_back(arg.value);
  Bounded result{Bind(function(values)), {}};
  const Expr &x = args[0].value, &x_error = args[0].error;
  if (op->op == "abs") return {result.value, x_error};
  if (op->op == "copysign") {
    const Expr& sign_error = args[1].error;
    result.error = x_error;
    if (sign_error) {
      const Expr either = OrZero(x_error) + Double(2) * Magnitude(x);
      result.error = Select(Magnitude(args[1].value) <= sign_error, either, OrZero(x_error));
    }
    return result;
  }
  if (op->op == "ldexp") {
    if (args[1].error) return Refused("a call of ldexp by a rounded number", Expr(op));
    if (x_error) result.error = function({x_error, values[1]});
    result.error = Rounded(result.value, result.error, op->dtype());
  } else if (args.size() == 1) {
    if (x_error) result.error = ErrorOfFunction(op->op, args[0]);
    if (!IsExact(op->op)) result.error = Rounded(result.value, result.error, op->dtype(), kFunctionRoundings);
  } else if (args.size() == 2 && op->op != "fmod" && op->op != "atan2") {
    result.error = Rounded(result.value, OfCorners(args, result.value, function), op->dtype(), kFunctionRoundings);
  } else {
    if (x_error || args[1].error) return Refused("a call of " + op->op + " with rounded values", Expr(op));
    result.error = Rounded(result.value, {}, op->dtype(), kFunctionRoundings);
  }
  if (!IsExact(op->op)) Overflow(op->dtype(), &result.value, &result.error);
  return result;
}

// Sines and cosines change by no more than their angle does. A tangent is infinite where its branches meet.
Expr ErrorBounds::ErrorOfFunction(const std::string& name, const Bounded& a) {
  if (name == "sin" || name == "cos") return Min(a.error, Double(2));
  const Expr spread = Spread(a, [&](const Expr& at) { return Call(kDouble, name, {at}); });
  if (name != "tan") return spread;
  const auto branch = [](const Expr& at) { return Call(kDouble, "round", {Div(at, Double(std::numbers::pi))}); };
  return Select(branch(a.value - a.error) < branch(a.value + a.error), Double(kUnbounded), spread);
}

}  // namespace tilewright
