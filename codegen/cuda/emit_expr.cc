// Scalars: arithmetic, logic, selection, conversion.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/cuda/kernel_emitter.h"
#include "codegen/cuda/type_text.h"
#include "ir/builtin.h"

namespace tilewright::cuda {
namespace {

struct Operator {
  const char* text;
  Binding binding;
};

Operator OperatorOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return {" + ", kSum};
    case BinaryOp::kSub:
      return {" - ", kSum};
    case BinaryOp::kMul:
      return {" * ", kProduct};
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      return {" / ", kProduct};
    case BinaryOp::kMod:
    case BinaryOp::kFloorMod:
      return {" % ", kProduct};
    case BinaryOp::kEQ:
      return {" == ", kEquality};
    case BinaryOp::kNE:
      return {" != ", kEquality};
    case BinaryOp::kLT:
      return {" < ", kRelation};
    case BinaryOp::kLE:
      return {" <= ", kRelation};
    case BinaryOp::kGT:
      return {" > ", kRelation};
    case BinaryOp::kGE:
      return {" >= ", kRelation};
    case BinaryOp::kAnd:
      return {" && ", kAnd};
    case BinaryOp::kOr:
      return {" || ", kOr};
    default:
      TW_UNREACHABLE();
  }
}

// Whether it is the minimum or maximum of another choice and a number behind it.
bool EndsAChoice(const BinaryNode* op) {
  const auto* number = dyn_cast<FloatImmNode>(op->b);
  if (number == nullptr || std::isnan(number->value)) return false;
  const auto* inner = dyn_cast<BinaryNode>(op->a);
  const auto* call = dyn_cast<CallNode>(op->a);
  return isa<SelectNode>(op->a) || (call != nullptr && call->op == kIfThenElse) ||
         (inner != nullptr && (inner->op == BinaryOp::kMin || inner->op == BinaryOp::kMax));
}

// Whether hardware may give the other zero where both operands are zeros: it takes the lesser (greater) one.
bool EndsAtTheOtherZero(const BinaryNode* op) {
  const double number = cast<FloatImmNode>(op->b)->value;
  return number == 0 && std::signbit(number) == (op->op == BinaryOp::kMax);
}

Binding Next(Binding binding) { return static_cast<Binding>(binding + 1); }

}  // namespace

// The text of one operand of a binary operator: a constant takes the type of the other operand.
Text KernelEmitter::Operand(const Expr& e, const Expr& other) {
  if (const auto* imm = dyn_cast<IntImmNode>(e); imm != nullptr && e.dtype().is_int() && !isa<IntImmNode>(other)) {
    if (imm->value == static_cast<int32_t>(imm->value) && imm->value != INT32_MIN) {
      return {absl::StrCat(imm->value), imm->value < 0 ? kUnary : kAtom};
    }
  }
  return Value(e);
}

Text KernelEmitter::Wrapped(DataType type, const Text& value) {
  if (HasOddWidth(type)) {
    const std::string stored = TypeText(type, true);
    if (type.is_int()) return {absl::StrCat("tw::sign_extend<", type.bits(), ">(", stored, "(", value.text, "))")};
    return {absl::StrCat(stored, "((", value.text, ") & ", (1 << type.bits()) - 1, ")")};
  }
  if (!type.is_integer() || type.bits() >= 32) return value;
  return {absl::StrCat(TypeText(type, true), "(", value.text, ")")};
}

Text KernelEmitter::Rounded(DataType type, const Text& unrounded) {
  if (!IsNarrow(type)) return unrounded;
  return {absl::StrCat("tw::round_to<", TypeText(type, true), ">(", unrounded.text, ")")};
}

std::string KernelEmitter::Stored(const Expr& e) {
  const DataType type = e.dtype();
  if (!IsNarrow(type)) return Value(e).text;
  if (const auto* load = dyn_cast<LoadNode>(e)) return Load(load, true).text;
  if (const auto* choice = dyn_cast<SelectNode>(e)) {
    return Choose(choice->condition, choice->true_value, choice->false_value, type, true).text;
  }
  if (const auto* call = dyn_cast<CallNode>(e); call != nullptr && call->op == kIfThenElse && call->args.size() == 3) {
    return Choose(call->args[0], call->args[1], call->args[2], type, true).text;
  }
  // Zeros of registers are constants.
  const auto* number = dyn_cast<FloatImmNode>(e);
  if (number != nullptr && number->value == 0 && !std::signbit(number->value)) {
    return absl::StrCat(TypeText(type, true), "{}");
  }
  return absl::StrCat("tw::narrow<", TypeText(type, true), ">(", Unrounded(e).text, ")");
}

// Choices and constants are exact already; sums, products, functions and conversions are not.
Text KernelEmitter::Unrounded(const Expr& e) {
  if (!IsNarrow(e.dtype())) return Value(e);
  if (const auto* binary = dyn_cast<BinaryNode>(e)) return FloatBinary(binary);
  if (const auto* conversion = dyn_cast<CastNode>(e)) return Cast(conversion);
  if (const auto* call = dyn_cast<CallNode>(e)) {
    Text result;
    if (MathCall(call, &result)) return result;
  }
  return Value(e);
}

Text KernelEmitter::Value(const Expr& e) {
  const DataType type = e.dtype();
  if (type.lanes() != 1) return Fail(absl::StrCat("a vector of ", type.ToString(), " where a scalar is expected"));
  switch (e->kind()) {
    case Kind::kIntImm: {
      const std::string text = IntegerText(type, cast<IntImmNode>(e)->value);
      return {text, text[0] == '-' ? kUnary : kAtom};
    }
    case Kind::kFloatImm: {
      const std::string text = FloatText(type, cast<FloatImmNode>(e)->value);
      return {text, text[0] == '-' ? kUnary : kAtom};
    }
    case Kind::kVar: {
      const auto known = values_.find(cast<VarNode>(e));
      if (known != values_.end()) return {known->second};
      return Fail(absl::StrCat("variable ", cast<VarNode>(e)->name, " has no value"));
    }
    case Kind::kBinary:
      return Binary(cast<BinaryNode>(e));
    case Kind::kNot:
      return {"!" + Value(cast<NotNode>(e)->a).Within(kUnary), kUnary};
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      return Choose(op->condition, op->true_value, op->false_value, type);
    }
    case Kind::kCast:
      return Rounded(type, Cast(cast<CastNode>(e)));
    case Kind::kLoad:
      return Load(cast<LoadNode>(e), false);
    case Kind::kLet:
      return Let(cast<LetNode>(e));
    case Kind::kCall:
      return Call(cast<CallNode>(e));
    case Kind::kShuffle: {
      const std::vector<Expr> lanes = Lanes(e);
      return status_.ok() ? Value(lanes[0]) : Text{"0"};
    }
    default:
      return Fail("an expression that CUDA code has no text for");
  }
}

Text KernelEmitter::Binary(const BinaryNode* op) {
  if (IsLogic(op->op)) {
    const auto [text, binding] = OperatorOf(op->op);
    const Text a = Value(op->a);
    Text b;
    ++indent_;
    const std::vector<std::string> before = Captured([&] { b = Value(op->b); });
    --indent_;
    if (before.empty()) return {absl::StrCat(a.Within(binding), text, b.Within(binding)), binding};
    // The second operand needs statements, which run only where the first does not decide.
    const std::string name = names_.Make("holds");
    Line(absl::StrCat("bool ", name, " = ", a.text, ";"));
    Open(absl::StrCat("if (", op->op == BinaryOp::kAnd ? "" : "!", name, ")"));
    Append(before);
    Line(absl::StrCat(name, " = ", b.text, ";"));
    Close();
    return {name};
  }
  const DataType type = op->a.dtype();
  if (IsComparison(op->op)) {
    const auto [text, binding] = OperatorOf(op->op);
    const Text a = Operand(op->a, op->b), b = Operand(op->b, op->a);
    return {absl::StrCat(a.Within(Next(binding)), text, b.Within(Next(binding))), binding};
  }
  return type.is_float() ? Rounded(type, FloatBinary(op)) : IntegerBinary(op);
}

Text KernelEmitter::FloatBinary(const BinaryNode* op) {
  const std::string type = TypeText(op->dtype(), false);
  const Text a = Value(op->a), b = Value(op->b);
  switch (op->op) {
    case BinaryOp::kMin:
    case BinaryOp::kMax: {
      const std::string name = op->op == BinaryOp::kMin ? "tw::min_of" : "tw::max_of";
      if (EndsAChoice(op)) {
        const char* suffix = EndsAtTheOtherZero(op) ? "_choice_or_zero(" : "_choice(";
        return {absl::StrCat(name, suffix, type, "(", a.text, "), ", b.text, ")")};
      }
      return {absl::StrCat(name, "<", type, ">(", a.text, ", ", b.text, ")")};
    }
    case BinaryOp::kMod:
      return {absl::StrCat("tw::fmod(", a.text, ", ", b.text, ")")};
    case BinaryOp::kFloorDiv:
      return {absl::StrCat("tw::floor(", a.Within(kProduct), " / ", b.Within(kUnary), ")")};
    case BinaryOp::kFloorMod: {
      const std::string x = Named(op->dtype(), "a", a.text), y = Named(op->dtype(), "b", b.text);
      return {absl::StrCat(x, " - tw::floor(", x, " / ", y, ") * ", y), kSum};
    }
    default: {
      const auto [text, binding] = OperatorOf(op->op);
      return {absl::StrCat(a.Within(binding), text, b.Within(Next(binding))), binding};
    }
  }
}

Text KernelEmitter::IntegerBinary(const BinaryNode* op) {
  const DataType type = op->dtype();
  const Text a = Operand(op->a, op->b), b = Operand(op->b, op->a);
  const std::string name = TypeText(type, false);
  const auto call = [&](const char* function) {
    return Wrapped(type, {absl::StrCat("tw::", function, "<", name, ">(", a.text, ", ", b.text, ")")});
  };
  if (op->op == BinaryOp::kMin) return call("min_of");
  if (op->op == BinaryOp::kMax) return call("max_of");
  const bool rounds_down = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
  if (rounds_down && type.is_int()) {
    const std::optional<int64_t> divisor = AsInt(op->b);
    const bool positive = divisor ? *divisor > 0 : analyzer_.CanProve(op->b > Const(type, 0));
    if (!positive || !analyzer_.CanProve(op->a >= Const(type, 0))) {
      return call(op->op == BinaryOp::kFloorDiv ? "floor_div" : "floor_mod");
    }
  }
  const auto [text, binding] = OperatorOf(op->op);
  const Text result = {absl::StrCat(a.Within(binding), text, b.Within(Next(binding))), binding};
  return Wrapped(type, result);
}

Text KernelEmitter::Choose(const Expr& condition, const Expr& a, const Expr& b, DataType type, bool stored) {
  if (condition.dtype().lanes() != 1) return Fail("a condition of several lanes for a scalar");
  const Text chosen = Condition(condition);
  Text x, y;
  const std::string name = TypeText(type, stored);
  // Loads of two arrays are two types until they are converted.
  const auto branch = [&](const Expr& e) {
    Text text = stored ? Text{Stored(e), isa<FloatImmNode>(e) ? kAtom : kTernary} : Value(e);
    return isa<LoadNode>(e) && (stored || !IsNarrow(type)) ? Text{absl::StrCat(name, "(", text.text, ")")} : text;
  };
  ++indent_;
  const std::vector<std::string> before_x = Captured([&] { x = branch(a); });
  const std::vector<std::string> before_y = Captured([&] { y = branch(b); });
  --indent_;
  if (before_x.empty() && before_y.empty()) {
    return {absl::StrCat(chosen.Within(kOr), " ? ", x.Within(kOr), " : ", y.Within(kTernary)), kTernary};
  }
  const std::string result = names_.Make("chosen");
  Line(absl::StrCat(name, " ", result, ";"));
  Open(absl::StrCat("if (", chosen.text, ")"));
  Append(before_x);
  Line(absl::StrCat(result, " = ", x.text, ";"));
  --indent_;
  Open("} else");
  Append(before_y);
  Line(absl::StrCat(result, " = ", y.text, ";"));
  Close();
  return {result};
}

Text KernelEmitter::Let(const LetNode* op) {
  values_[op->var.get()] = Named(op->var.dtype(), op->var.name(), Value(op->value).text);
  return Value(op->body);
}

// Wider numbers go to a narrow type through the float next to them with an odd last bit, so that they are rounded once.
Text KernelEmitter::Cast(const CastNode* op) {
  const DataType from = op->value.dtype(), to = op->dtype();
  const Text value = Value(op->value);
  const std::string name = TypeText(to, false);
  if (to.is_bool()) {
    if (from.is_bool()) return value;
    return {absl::StrCat(value.Within(kRelation), " != ", from.is_float() ? (from.bits() == 64 ? "0.0" : "0.0f") : "0"),
            kEquality};
  }
  if (IsNarrow(to)) {
    if (from.is_float()) {
      return from.bits() == 64 ? Text{absl::StrCat("tw::odd_float(", value.text, ")")} : value;
    }
    if (from.is_integer() && from.bits() > 32) {
      const char* const wide = from.is_int() ? "int64_t" : "uint64_t";
      return {absl::StrCat("tw::odd_float(tw::odd_double(", wide, "(", value.text, ")))")};
    }
    if (from.is_integer() && from.bits() > 16) return {absl::StrCat("tw::odd_float(double(", value.text, "))")};
    return {absl::StrCat("float(", value.text, ")")};
  }
  if (from == to) return value;
  if (HasOddWidth(to)) return Wrapped(to, {absl::StrCat(name, "(", value.text, ")")});
  return {absl::StrCat(name, "(", value.text, ")")};
}

}  // namespace tilewright::cuda
