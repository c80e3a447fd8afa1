#include "ir/expr.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "ir/float_format.h"
#include "ir/index_map.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// A constant, or one in every lane.
bool IsImmediate(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return broadcast != nullptr ? IsImmediate(broadcast->value) : isa<IntImmNode>(e) || isa<FloatImmNode>(e);
}

// The integer type that holds the values of both; int64 where none does.
DataType TypeOfBoth(DataType a, DataType b) {
  if (a.is_int() == b.is_int()) return a.bits() >= b.bits() ? a : b;
  const DataType is_signed = a.is_int() ? a : b, is_unsigned = a.is_int() ? b : a;
  return DataType::Int(std::min(64, std::max(is_signed.bits(), 2 * is_unsigned.bits())), a.lanes());
}

// Gives both operands one type, as the header says.
void Unify(Expr& a, Expr& b) {
  if (a.dtype() == b.dtype()) return;
  if (a.dtype().lanes() != b.dtype().lanes()) {
    if (a.dtype().is_scalar()) {
      a = Broadcast(a, b.dtype().lanes());
    } else {
      TW_CHECK(b.dtype().is_scalar()) << "operands with " << a.dtype().ToString() << " and " << b.dtype().ToString();
      b = Broadcast(b, a.dtype().lanes());
    }
  }
  if (a.dtype() == b.dtype()) return;
  DataType ta = a.dtype(), tb = b.dtype();
  if (IsImmediate(b) && !(ta.is_integer() && tb.is_float())) {
    b = CastTo(ta, b);
  } else if (IsImmediate(a) && !(tb.is_integer() && ta.is_float())) {
    a = CastTo(tb, a);
  } else if (ta.is_integer() && tb.is_integer()) {
    const DataType type = TypeOfBoth(ta, tb);
    a = CastTo(type, a);
    b = CastTo(type, b);
  } else {
    TW_CHECK(false) << "operands with types " << ta.ToString() << " and " << tb.ToString();
  }
}

DataType ResultType(BinaryOp op, const Expr& a) {
  return IsComparison(op) || IsLogic(op) ? DataType::Bool(a.dtype().lanes()) : a.dtype();
}

}  // namespace

// Booleans and the small integers of the types of indices, made once.
class SmallConstants {
 public:
  // Null for what is not among them; `dtype` is scalar.
  static const IntImmNode* Find(DataType dtype, int64_t value) {
    static const SmallConstants& all = *new SmallConstants;
    const bool is_small = value >= kFirst && value < kEnd;
    if (!is_small) return nullptr;
    const size_t position = static_cast<size_t>(value - kFirst);
    if (dtype == DataType::Int(32)) return all.int32_[position];
    if (dtype == DataType::Int(64)) return all.int64_[position];
    return dtype.is_bool() && (value == 0 || value == 1) ? all.bools_[static_cast<size_t>(value)] : nullptr;
  }

 private:
  static constexpr int64_t kFirst = -16, kEnd = 1040;

  SmallConstants() {
    for (int64_t value = kFirst; value < kEnd; ++value) {
      const size_t position = static_cast<size_t>(value - kFirst);
      int32_[position] = Make(DataType::Int(32), value);
      int64_[position] = Make(DataType::Int(64), value);
    }
    for (int64_t value : {0, 1}) bools_[static_cast<size_t>(value)] = Make(DataType::Bool(), value);
  }
  static const IntImmNode* Make(DataType dtype, int64_t value) {
    auto* node = new IntImmNode(dtype, value);
    node->MakeImmortal();
    return node;
  }

  const IntImmNode* int32_[kEnd - kFirst];
  const IntImmNode* int64_[kEnd - kFirst];
  const IntImmNode* bools_[2];
};

Expr::Expr(int value) : Expr(Const(DataType::Int(32), value)) {}
Expr::Expr(int64_t value) : Expr(Const(DataType::Int(value == static_cast<int32_t>(value) ? 32 : 64), value)) {}

Var::Var(std::string name, DataType dtype) : Ref<VarNode>(new VarNode(std::move(name), dtype)) {}

BinaryNode::BinaryNode(BinaryOp op, Expr lhs, Expr rhs)
    : ExprNode(kKind, ResultType(op, lhs)), op(op), a(std::move(lhs)), b(std::move(rhs)) {
  TW_CHECK(a.dtype() == b.dtype()) << "operands with types " << a.dtype().ToString() << " and " << b.dtype().ToString();
}

ShuffleNode::ShuffleNode(std::vector<Expr> parts, std::vector<int> picked)
    : ExprNode(kKind, parts.at(0).dtype().with_lanes(static_cast<int>(picked.size()))),
      vectors(std::move(parts)),
      indices(std::move(picked)) {}

Expr Const(DataType dtype, int64_t value) {
  if (dtype.is_float()) return ConstFloat(dtype, static_cast<double>(value));
  const IntImmNode* small = SmallConstants::Find(dtype.element(), value);
  Expr scalar(small != nullptr ? small : new IntImmNode(dtype.element(), value));
  return dtype.is_scalar() ? scalar : Broadcast(scalar, dtype.lanes());
}
Expr ConstFloat(DataType dtype, double value) {
  Expr scalar(new FloatImmNode(dtype.element(), RoundTo(dtype.element(), value)));
  return dtype.is_scalar() ? scalar : Broadcast(scalar, dtype.lanes());
}
Expr String(std::string value) { return Expr(new StringImmNode(std::move(value))); }
Expr True() { return Expr(SmallConstants::Find(DataType::Bool(), 1)); }
Expr False() { return Expr(SmallConstants::Find(DataType::Bool(), 0)); }

Expr MakeBinary(BinaryOp op, Expr a, Expr b) {
  Unify(a, b);
  return Expr(new BinaryNode(op, std::move(a), std::move(b)));
}
Expr operator+(Expr a, Expr b) { return MakeBinary(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return MakeBinary(BinaryOp::kSub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return MakeBinary(BinaryOp::kMul, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return Const(a.dtype(), 0) - a; }
Expr operator<(Expr a, Expr b) { return MakeBinary(BinaryOp::kLT, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return MakeBinary(BinaryOp::kLE, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return MakeBinary(BinaryOp::kGT, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return MakeBinary(BinaryOp::kGE, std::move(a), std::move(b)); }
Expr operator==(Expr a, Expr b) { return MakeBinary(BinaryOp::kEQ, std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return MakeBinary(BinaryOp::kNE, std::move(a), std::move(b)); }
Expr And(Expr a, Expr b) { return MakeBinary(BinaryOp::kAnd, std::move(a), std::move(b)); }
Expr Or(Expr a, Expr b) { return MakeBinary(BinaryOp::kOr, std::move(a), std::move(b)); }
Expr Not(Expr a) { return Expr(new NotNode(std::move(a))); }
Expr Div(Expr a, Expr b) { return MakeBinary(BinaryOp::kDiv, std::move(a), std::move(b)); }
Expr Mod(Expr a, Expr b) { return MakeBinary(BinaryOp::kMod, std::move(a), std::move(b)); }
Expr FloorDiv(Expr a, Expr b) { return MakeBinary(BinaryOp::kFloorDiv, std::move(a), std::move(b)); }
Expr FloorMod(Expr a, Expr b) { return MakeBinary(BinaryOp::kFloorMod, std::move(a), std::move(b)); }
Expr Min(Expr a, Expr b) { return MakeBinary(BinaryOp::kMin, std::move(a), std::move(b)); }
Expr Max(Expr a, Expr b) { return MakeBinary(BinaryOp::kMax, std::move(a), std::move(b)); }

Expr Select(Expr condition, Expr true_value, Expr false_value) {
  Unify(true_value, false_value);
  return Expr(new SelectNode(std::move(condition), std::move(true_value), std::move(false_value)));
}

Expr CastTo(DataType dtype, Expr value) {
  if (value.dtype() == dtype) return value;
  if (const auto* imm = dyn_cast<IntImmNode>(value)) {
    if (dtype.is_float())
      return ConstFloat(dtype, RoundIntegerTo(dtype.element(), value.dtype().element(), imm->value));
    if (dtype.is_integer() && imm->value >= MinValue(dtype.element()) && imm->value <= MaxValue(dtype.element())) {
      return Const(dtype, imm->value);
    }
  }
  if (const auto* imm = dyn_cast<FloatImmNode>(value)) {
    if (dtype.is_float()) return ConstFloat(dtype, imm->value);
  }
  if (const auto* broadcast = dyn_cast<BroadcastNode>(value);
      broadcast && broadcast->value.dtype().is_scalar() && dtype.lanes() == value.dtype().lanes()) {
    return Broadcast(CastTo(dtype.element(), broadcast->value), dtype.lanes());
  }
  TW_CHECK(dtype.lanes() == value.dtype().lanes())
      << "cast from " << value.dtype().ToString() << " to " << dtype.ToString();
  return Expr(new CastNode(dtype, std::move(value)));
}

Expr Ramp(Expr base, Expr stride, int lanes) {
  Unify(base, stride);
  return lanes == 1 ? base : Expr(new RampNode(std::move(base), std::move(stride), lanes));
}
Expr Broadcast(Expr value, int lanes) { return lanes == 1 ? value : Expr(new BroadcastNode(std::move(value), lanes)); }
Expr Call(DataType dtype, std::string op, std::vector<Expr> args) {
  return Expr(new CallNode(dtype, std::move(op), std::move(args)));
}
Expr IfThenElse(Expr condition, Expr true_value, Expr false_value) {
  Unify(true_value, false_value);
  DataType dtype = true_value.dtype();
  return Call(dtype, "if_then_else", {std::move(condition), std::move(true_value), std::move(false_value)});
}

std::vector<Expr> IndexMap::Apply(const std::vector<Expr>& indices) const {
  TW_CHECK(indices.size() == get()->inputs.size());
  VarMap values;
  for (size_t i = 0; i < indices.size(); ++i) values[get()->inputs[i]] = indices[i];
  std::vector<Expr> results;
  results.reserve(get()->outputs.size());
  for (const Expr& output : get()->outputs) results.push_back(Substitute(output, values));
  return results;
}

}  // namespace tilewright
