// Everything that is neither an index nor a scalar condition: floating-point values, narrow and unsigned integers,
// vectors, loads and calls. Operands are simplified; values are folded only where the result is exactly the same.
#include <algorithm>
#include <cmath>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"

namespace tilewright::arith {
namespace {

// The value of an operation on narrow or unsigned integers, when it is defined and representable. Unsigned values wrap.
std::optional<int64_t> FoldInteger(BinaryOp op, DataType dtype, int64_t a, int64_t b) {
  int64_t result;
  bool overflow = false;
  bool wide_unsigned = dtype.is_uint() && dtype.bits() == 64;
  switch (op) {
    case BinaryOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOp::kMul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      if (b == 0 || (b == -1 && a == kNegInf) || wide_unsigned) return std::nullopt;
      if (op == BinaryOp::kDiv) result = a / b;
      if (op == BinaryOp::kMod) result = a % b;
      if (op == BinaryOp::kFloorDiv) result = FloorDivInt(a, b);
      if (op == BinaryOp::kFloorMod) result = FloorModInt(a, b);
      break;
    case BinaryOp::kMin:
      if (wide_unsigned) return std::nullopt;
      return std::min(a, b);
    case BinaryOp::kMax:
      if (wide_unsigned) return std::nullopt;
      return std::max(a, b);
    default:
      return std::nullopt;
  }
  if (dtype.is_uint() && dtype.bits() < 64) {
    if (overflow) return std::nullopt;
    return result & MaxValue(dtype);
  }
  if (overflow && !dtype.is_uint()) return std::nullopt;
  if (dtype.is_int() && (result < MinValue(dtype) || result > MaxValue(dtype))) return std::nullopt;
  return result;
}

// A result that rounds once more to the type of the operands is the correctly rounded one: doubles are wide enough.
std::optional<double> FoldFloat(BinaryOp op, double a, double b) {
  double result;
  switch (op) {
    case BinaryOp::kAdd:
      result = a + b;
      break;
    case BinaryOp::kSub:
      result = a - b;
      break;
    case BinaryOp::kMul:
      result = a * b;
      break;
    case BinaryOp::kDiv:
      result = a / b;
      break;
    default:
      return std::nullopt;
  }
  return std::isfinite(result) ? std::optional<double>(result) : std::nullopt;
}

// x * 1, x / 1, and for integers x + 0, x - 0, x // 1; nothing that could turn -0 into 0.
bool IsRightIdentity(BinaryOp op, const Expr& b) {
  if (const auto* imm = dyn_cast<FloatImmNode>(b)) {
    bool zero = imm->value == 0;
    return ((op == BinaryOp::kMul || op == BinaryOp::kDiv) && imm->value == 1) ||
           (op == BinaryOp::kSub && zero && !std::signbit(imm->value)) ||
           (op == BinaryOp::kAdd && zero && std::signbit(imm->value));
  }
  if (IsInt(b, 0)) return op == BinaryOp::kAdd || op == BinaryOp::kSub;
  if (IsInt(b, 1)) return op == BinaryOp::kMul || op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv;
  return false;
}

Expr FoldBinary(const BinaryNode* op, const Expr& a, const Expr& b) {
  DataType dtype = a.dtype();
  if (op->op > BinaryOp::kMax) return {};
  const auto *x = dyn_cast<IntImmNode>(a), *y = dyn_cast<IntImmNode>(b);
  if (x != nullptr && y != nullptr && dtype.is_integer()) {
    if (auto value = FoldInteger(op->op, dtype, x->value, y->value)) return Const(dtype, *value);
    return {};
  }
  const auto *u = dyn_cast<FloatImmNode>(a), *v = dyn_cast<FloatImmNode>(b);
  if (u != nullptr && v != nullptr) {
    auto value = FoldFloat(op->op, u->value, v->value);
    if (!value) return {};
    Expr folded = ConstFloat(dtype, *value);
    const auto* imm = dyn_cast<FloatImmNode>(folded);
    return imm != nullptr && std::isfinite(imm->value) ? folded : Expr();
  }
  if (IsRightIdentity(op->op, b)) return a;
  bool commutes = op->op == BinaryOp::kMul || (op->op == BinaryOp::kAdd && dtype.is_integer());
  if (commutes && IsRightIdentity(op->op, a)) return b;
  return {};
}

}  // namespace

Expr Context::Simplify(const Expr& e) {
  if (!e) return e;
  DataType dtype = e.dtype();
  if (dtype.is_index()) return SimplifyIndex(e);
  if (dtype.is_bool() && dtype.is_scalar()) return SimplifyBool(e);
  return SimplifyOther(e);
}

std::vector<Expr> Context::SimplifyAll(const std::vector<Expr>& list, bool* changed) {
  std::vector<Expr> results;
  results.reserve(list.size());
  for (const Expr& e : list) {
    results.push_back(Simplify(e));
    *changed |= !results.back().same_as(e);
  }
  return results;
}

// Chooses between two values; each is simplified knowing the condition.
Expr Context::SimplifyChoice(const Expr& condition, const Expr& yes, const Expr& no, bool evaluates_both,
                             Expr* known_condition, Expr* a, Expr* b) {
  *known_condition = Simplify(condition);
  if (IsTrue(*known_condition)) return Simplify(yes);
  if (IsFalse(*known_condition)) return Simplify(no);
  auto simplify_under = [&](const Expr& value, bool holds) {
    // A value that is evaluated also when it is not chosen must not get into error then.
    if (evaluates_both && !IsTotal(value)) return Simplify(value);
    size_t before = mark();
    Assume(*known_condition, holds);
    Expr result = Simplify(value);
    Undo(before);
    return result;
  };
  *a = simplify_under(yes, true);
  *b = simplify_under(no, false);
  if (SameExpr(*a, *b) && !HasEffect(*known_condition)) return *a;
  return WithoutSpecialCase(*known_condition, *a, *b, evaluates_both);
}

// A choice of which one value is the other one's special case is that other one: Select(n == 1, 0, v) with v in [0, n).
Expr Context::WithoutSpecialCase(const Expr& condition, const Expr& yes, const Expr& no, bool evaluates_both) {
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr || (op->op != BinaryOp::kEQ && op->op != BinaryOp::kNE) || !op->a.dtype().is_index()) return {};
  const bool equal = op->op == BinaryOp::kEQ;
  const Expr &special = equal ? yes : no, &general = equal ? no : yes;
  if (!general.dtype().is_index() || HasEffect(condition) || ReadsMemory(condition) || ReadsMemory(yes) ||
      ReadsMemory(no) || !(evaluates_both || IsTotal(general))) {
    return {};
  }
  const size_t before = mark();
  Assume(condition, equal);
  Sum difference = ToSum(general);
  AddSum(&difference, ToSum(special), -1);
  const auto zero = difference.overflow ? std::nullopt : DecideZero(difference);
  Undo(before);
  return zero.value_or(false) ? general : Expr();
}

Expr Context::SimplifySelect(const SelectNode* op) {
  Expr c, a, b;
  if (op->condition.dtype().is_scalar()) {
    if (Expr chosen = SimplifyChoice(op->condition, op->true_value, op->false_value, true, &c, &a, &b)) return chosen;
  } else {
    c = Simplify(op->condition), a = Simplify(op->true_value), b = Simplify(op->false_value);
  }
  const bool changed = !c.same_as(op->condition) || !a.same_as(op->true_value) || !b.same_as(op->false_value);
  return changed ? Select(c, a, b) : Expr(op);
}

Expr Context::SimplifyLet(const LetNode* op) {
  const Expr value = Simplify(op->value);
  const bool is_atom = isa<IntImmNode>(value) || isa<VarNode>(value);
  const size_t before = mark();
  if (is_atom) {
    BindValue(op->var, value);
  } else {
    BindName(op->var, value);
  }
  const Expr body = Simplify(op->body);
  Undo(before);
  if (is_atom) return body;
  const bool changed = !value.same_as(op->value) || !body.same_as(op->body);
  return changed ? Expr(new LetNode(op->var, value, body)) : Expr(op);
}

Expr Context::SimplifyCall(const CallNode* op) {
  bool changed = false;
  if (op->op == kIfThenElse && op->args[0].dtype().is_scalar()) {
    Expr c, a, b;
    if (Expr chosen = SimplifyChoice(op->args[0], op->args[1], op->args[2], false, &c, &a, &b)) return chosen;
    changed = !c.same_as(op->args[0]) || !a.same_as(op->args[1]) || !b.same_as(op->args[2]);
    return changed ? Call(op->dtype(), op->op, {c, a, b}) : Expr(op);
  }
  std::vector<Expr> args = SimplifyAll(op->args, &changed);
  if (op->op == "likely" && isa<IntImmNode>(args[0])) return args[0];
  return changed ? Call(op->dtype(), op->op, std::move(args)) : Expr(op);
}

Expr Context::SimplifyOther(const Expr& e) {
  bool changed = false;
  switch (e->kind()) {
    case Kind::kVar: {
      const Binding* binding = Find(cast<VarNode>(e));
      return binding != nullptr && binding->value ? binding->value : e;
    }
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      Expr a = Simplify(op->a), b = Simplify(op->b);
      Expr folded = FoldBinary(op, a, b);
      return folded ? folded : Rebuild(op, e, a, b);
    }
    case Kind::kNot: {
      Expr a = Simplify(cast<NotNode>(e)->a);
      return a.same_as(cast<NotNode>(e)->a) ? e : Not(a);
    }
    case Kind::kSelect:
      return SimplifySelect(cast<SelectNode>(e));
    case Kind::kCast: {
      const auto* op = cast<CastNode>(e);
      Expr value = Simplify(op->value);
      const bool constant = isa<IntImmNode>(value) || isa<FloatImmNode>(value);
      if (value.same_as(op->value) && !constant) return e;
      Expr cast = CastTo(e.dtype(), value);  // a constant where the type holds it
      return constant && isa<CastNode>(cast) && value.same_as(op->value) ? e : cast;
    }
    case Kind::kLoad: {
      const auto* op = cast<LoadNode>(e);
      std::vector<Expr> indices = SimplifyAll(op->indices, &changed);
      Expr predicate = Simplify(op->predicate);
      changed |= !predicate.same_as(op->predicate);
      return changed ? op->buffer.Load(std::move(indices), predicate) : e;
    }
    case Kind::kRamp: {
      const auto* op = cast<RampNode>(e);
      Expr base = Simplify(op->base), stride = Simplify(op->stride);
      changed = !base.same_as(op->base) || !stride.same_as(op->stride);
      return changed ? Ramp(base, stride, e.dtype().lanes()) : e;
    }
    case Kind::kBroadcast: {
      const auto* op = cast<BroadcastNode>(e);
      Expr value = Simplify(op->value);
      return value.same_as(op->value) ? e : Broadcast(value, e.dtype().lanes() / value.dtype().lanes());
    }
    case Kind::kShuffle: {
      const auto* op = cast<ShuffleNode>(e);
      std::vector<Expr> vectors = SimplifyAll(op->vectors, &changed);
      return changed ? Expr(new ShuffleNode(std::move(vectors), op->indices)) : e;
    }
    case Kind::kLet:
      return SimplifyLet(cast<LetNode>(e));
    case Kind::kCall:
      return SimplifyCall(cast<CallNode>(e));
    default:
      return e;
  }
}

}  // namespace tilewright::arith
