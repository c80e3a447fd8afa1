#include "ir/arith/same_expr.h"

#include <bit>
#include <cstdint>

#include "ir/buffer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright::arith {
namespace {

bool SameLists(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameExpr(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

bool SameExpr(const Expr& a, const Expr& b) {
  if (!a || !b) return !a && !b;
  if (a->kind() != b->kind() || a.dtype() != b.dtype()) return false;
  switch (a->kind()) {
    case Kind::kVar:
      return a.same_as(b);
    case Kind::kIntImm:
      return cast<IntImmNode>(a)->value == cast<IntImmNode>(b)->value;
    case Kind::kBinary: {
      const auto *x = cast<BinaryNode>(a), *y = cast<BinaryNode>(b);
      if (x == y) return !HasEffect(a);
      return x->op == y->op && SameExpr(x->a, y->a) && SameExpr(x->b, y->b);
    }
    case Kind::kNot:
      return SameExpr(cast<NotNode>(a)->a, cast<NotNode>(b)->a);
    case Kind::kCast:
      return SameExpr(cast<CastNode>(a)->value, cast<CastNode>(b)->value);
    case Kind::kSelect: {
      const auto *x = cast<SelectNode>(a), *y = cast<SelectNode>(b);
      return SameExpr(x->condition, y->condition) && SameExpr(x->true_value, y->true_value) &&
             SameExpr(x->false_value, y->false_value);
    }
    case Kind::kLoad: {
      const auto *x = cast<LoadNode>(a), *y = cast<LoadNode>(b);
      return x->buffer.same_as(y->buffer) && SameLists(x->indices, y->indices) && SameExpr(x->predicate, y->predicate);
    }
    case Kind::kCall: {
      const auto *x = cast<CallNode>(a), *y = cast<CallNode>(b);
      return x->op == y->op && SameLists(x->args, y->args) && EffectOf(x->op) != CallEffect::kOpaque;
    }
    default:
      return StructuralEqual(a, b) && !HasEffect(a);
  }
}

namespace {

// Levels of operands that an outline takes in.
constexpr int kOutlinedLevels = 3;

uint64_t Mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

uint64_t Outline(const Expr& e, int levels) {
  if (!e) return 1;
  const auto kind = static_cast<uint64_t>(e->kind());
  const uint64_t hash =
      Mixed(kind << 32 | static_cast<uint64_t>(e.dtype().bits()), static_cast<uint64_t>(e.dtype().lanes()));
  switch (e->kind()) {
    case Kind::kVar:
      return Mixed(hash, reinterpret_cast<uintptr_t>(e.get()));
    case Kind::kIntImm:
      return Mixed(hash, static_cast<uint64_t>(cast<IntImmNode>(e)->value));
    case Kind::kFloatImm: {
      const double value = cast<FloatImmNode>(e)->value;
      return value == value && value != 0 ? Mixed(hash, std::bit_cast<uint64_t>(value)) : hash;
    }
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      const uint64_t with_op = Mixed(hash, static_cast<uint64_t>(op->op));
      return levels == 0 ? with_op : Mixed(Mixed(with_op, Outline(op->a, levels - 1)), Outline(op->b, levels - 1));
    }
    case Kind::kNot:
      return levels == 0 ? hash : Mixed(hash, Outline(cast<NotNode>(e)->a, levels - 1));
    case Kind::kCast:
      return levels == 0 ? hash : Mixed(hash, Outline(cast<CastNode>(e)->value, levels - 1));
    case Kind::kLoad:
      return Mixed(hash, reinterpret_cast<uintptr_t>(cast<LoadNode>(e)->buffer.get()));
    default:
      return hash;
  }
}

}  // namespace

uint64_t Outline(const Expr& e) { return Outline(e, kOutlinedLevels); }

bool ReadsMemory(const Expr& e) {
  if (!e || isa<VarNode>(e) || isa<IntImmNode>(e)) return false;
  if (const auto* op = dyn_cast<BinaryNode>(e)) return ReadsMemory(op->a) || ReadsMemory(op->b);
  bool reads = false;
  PreOrder(e, [&](const Expr& x) {
    if (isa<LoadNode>(x)) reads = true;
    if (const auto* call = dyn_cast<CallNode>(x); call && EffectOf(call->op) != CallEffect::kPure) reads = true;
    return !reads;
  });
  return reads;
}

bool HasEffect(const Expr& e) {
  if (!e || isa<VarNode>(e) || isa<IntImmNode>(e)) return false;
  if (const auto* op = dyn_cast<BinaryNode>(e)) return HasEffect(op->a) || HasEffect(op->b);
  bool effect = false;
  PreOrder(e, [&](const Expr& x) {
    if (const auto* call = dyn_cast<CallNode>(x); call && EffectOf(call->op) == CallEffect::kOpaque) effect = true;
    return !effect;
  });
  return effect;
}

bool IsTotal(const Expr& e) {
  switch (e->kind()) {
    case Kind::kIntImm:
    case Kind::kFloatImm:
    case Kind::kVar:
      return true;
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      bool divides = op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod && !e.dtype().is_float();
      if (divides && (!isa<IntImmNode>(op->b) || IsInt(op->b, 0))) return false;
      return IsTotal(op->a) && IsTotal(op->b);
    }
    case Kind::kNot:
      return IsTotal(cast<NotNode>(e)->a);
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      return IsTotal(op->condition) && IsTotal(op->true_value) && IsTotal(op->false_value);
    }
    case Kind::kCast:
      return IsTotal(cast<CastNode>(e)->value);
    default:
      return false;
  }
}

}  // namespace tilewright::arith
