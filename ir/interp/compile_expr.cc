#include <bit>

#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/interp/compiler.h"

namespace tilewright::interp::internal {

Lanes Compiler::Value(const Expr& e) {
  if (const auto* var = dyn_cast<VarNode>(e)) {
    if (auto it = vars_.find(var); it != vars_.end()) return it->second;
    if (slots_.count(var) != 0) return {Pointer(e)};
    Error(absl::InvalidArgumentError(absl::StrCat("variable ", var->name, " is not defined")));
    return Lanes(static_cast<size_t>(e.dtype().lanes()), 0);
  }
  if (const auto* imm = dyn_cast<IntImmNode>(e)) return {Constant(imm->value)};
  if (const auto* imm = dyn_cast<FloatImmNode>(e)) return {FloatConstant(imm->value)};
  for (auto it = cache_.rbegin(); it != cache_.rend(); ++it) {
    if (it->first.same_as(e)) return it->second;
  }
  Lanes lanes = NewValue(e);
  if (lanes.size() != static_cast<size_t>(e.dtype().lanes())) {
    Error(absl::InvalidArgumentError(
        absl::StrCat("a value of ", lanes.size(), " lanes where ", e.dtype().ToString(), " is needed")));
    lanes.resize(static_cast<size_t>(e.dtype().lanes()), 0);
  }
  cache_.emplace_back(e, lanes);
  return lanes;
}

// What may stop the program when it is evaluated although its value is not needed.
bool Compiler::MayFail(const Expr& e) const {
  bool may_fail = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* binary = dyn_cast<BinaryNode>(part);
    const bool is_integer = binary != nullptr && binary->dtype().is_integer();
    const bool divides = is_integer && binary->op >= BinaryOp::kDiv && binary->op <= BinaryOp::kFloorMod;
    const bool overflows = is_integer && binary->op <= BinaryOp::kMul && binary->dtype().is_int() &&
                           binary->dtype().bits() >= 32 && !options_.wrap_signed;
    may_fail |= divides || overflows || isa<LoadNode>(part) || isa<CallNode>(part);
    return !may_fail;
  });
  return may_fail;
}

Reg Compiler::ScalarValue(const Expr& e) {
  Lanes lanes = Value(e);
  if (lanes.size() == 1) return lanes[0];
  Error(absl::InvalidArgumentError("a vector where a scalar is needed"));
  return 0;
}

Lanes Compiler::SelectValue(const SelectNode* op) {
  // Only the value that a scalar condition takes is evaluated: the other one may not have a value.
  if (op->condition.dtype().is_scalar()) return Choose(op->condition, op->true_value, op->false_value, op->dtype());
  Lanes result;
  const Lanes condition = Value(op->condition), yes = Value(op->true_value), no = Value(op->false_value);
  for (size_t i = 0; i < yes.size() && (condition.size() == 1 || i < condition.size()); ++i) {
    const Reg lane = NewReg();
    Emit(Op::kMove, lane, yes[i]);
    const size_t keep = Emit(Op::kJumpIfNotZero, 0, condition.size() == 1 ? condition[0] : condition[i]);
    Emit(Op::kMove, lane, no[i]);
    PatchToHere(keep);
    result.push_back(lane);
  }
  return result;
}

Lanes Compiler::ShuffleValue(const ShuffleNode* op) {
  Lanes all, result;
  for (const Expr& vector : op->vectors) {
    const Lanes lanes = Value(vector);
    all.insert(all.end(), lanes.begin(), lanes.end());
  }
  for (int index : op->indices) {
    if (index < 0 || static_cast<size_t>(index) >= all.size()) {
      Error(absl::InvalidArgumentError(absl::StrCat("shuffle picks lane ", index, " of ", all.size())));
      index = 0;
    }
    result.push_back(all[static_cast<size_t>(index)]);
  }
  return result;
}

Lanes Compiler::NewValue(const Expr& e) {
  constexpr int kMaxLanes = 4096;
  if (e.dtype().lanes() > kMaxLanes) {
    Error(absl::UnimplementedError(absl::StrCat("vectors of ", e.dtype().lanes(), " lanes")));
    return Lanes(1, 0);
  }
  Lanes result;
  switch (e->kind()) {
    case Kind::kBinary:
      return Binary(cast<BinaryNode>(e));
    case Kind::kNot:
      for (Reg lane : Value(cast<NotNode>(e)->a)) result.push_back(EmitValue(Op::kNot, lane));
      return result;
    case Kind::kSelect:
      return SelectValue(cast<SelectNode>(e));
    case Kind::kCast: {
      const auto* op = cast<CastNode>(e);
      for (Reg lane : Value(op->value)) {
        result.push_back(CastLane(op->value.dtype().element(), op->dtype().element(), lane));
      }
      return result;
    }
    case Kind::kLoad:
      return Load(cast<LoadNode>(e));
    case Kind::kRamp: {
      const auto* op = cast<RampNode>(e);
      Reg lane = ScalarValue(op->base);
      const Reg stride = ScalarValue(op->stride);
      for (int i = 0; i < op->dtype().lanes(); ++i) {
        result.push_back(lane);
        if (i + 1 < op->dtype().lanes()) lane = BinaryLane(BinaryOp::kAdd, op->base.dtype().element(), lane, stride);
      }
      return result;
    }
    case Kind::kBroadcast: {
      const auto* op = cast<BroadcastNode>(e);
      const Lanes value = Value(op->value);
      while (result.size() < static_cast<size_t>(op->dtype().lanes())) {
        result.insert(result.end(), value.begin(), value.end());
      }
      return result;
    }
    case Kind::kShuffle:
      return ShuffleValue(cast<ShuffleNode>(e));
    case Kind::kLet: {
      const auto* op = cast<LetNode>(e);
      vars_[op->var.get()] = Value(op->value);
      return Value(op->body);
    }
    case Kind::kCall:
      return CallValue(cast<CallNode>(e));
    default:
      Error(absl::InvalidArgumentError("a string where a number is needed"));
      return Lanes(1, 0);
  }
}

Lanes Compiler::Binary(const BinaryNode* op) {
  const DataType dtype = op->a.dtype().element();
  // a * b + c in one instruction.
  const bool wraps = options_.wrap_signed || wrapping_.contains(op);
  if (op->op == BinaryOp::kAdd && op->dtype().is_index() && !wraps) {
    if (const auto* product = dyn_cast<BinaryNode>(op->a); product != nullptr && product->op == BinaryOp::kMul) {
      const Reg a = ScalarValue(product->a), b = ScalarValue(product->b), c = ScalarValue(op->b);
      if (!ConstantValue(a) || !ConstantValue(b)) {
        return {EmitValue(dtype.bits() == 32 ? Op::kMadd32 : Op::kMadd64, a, b, c)};
      }
    }
  }
  if (IsLogic(op->op) && op->dtype().is_scalar() && MayFail(op->b)) {
    return op->op == BinaryOp::kAnd ? Choose(op->a, op->b, False(), op->dtype())
                                    : Choose(op->a, True(), op->b, op->dtype());
  }
  const Lanes a = Value(op->a), b = Value(op->b);
  Lanes result;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) result.push_back(BinaryLane(op->op, dtype, a[i], b[i], wraps));
  return result;
}

Reg Compiler::BinaryLane(BinaryOp op, DataType dtype, Reg a, Reg b, bool wraps) {
  if (op == BinaryOp::kAnd) return EmitValue(Op::kAnd, a, b);
  if (op == BinaryOp::kOr) return EmitValue(Op::kOr, a, b);
  if (IsComparison(op)) return CompareLane(op, dtype, a, b);
  return dtype.is_float() ? FloatLane(op, dtype, a, b) : IntegerLane(op, dtype, a, b, wraps);
}

Reg Compiler::IntegerLane(BinaryOp op, DataType dtype, Reg a, Reg b, bool wraps) {
  const bool is_signed = dtype.is_int();
  const bool checked = is_signed && dtype.bits() >= 32 && !options_.wrap_signed && !wraps;
  const bool wide = dtype.bits() > 32;
  const int width = checked ? dtype.bits() : 64;
  const auto ca = ConstantValue(a), cb = ConstantValue(b);
  switch (op) {
    case BinaryOp::kAdd:
      if (ca == 0) return b;
      if (cb == 0) return a;
      return checked ? EmitValue(wide ? Op::kAdd64 : Op::kAdd32, a, b) : Wrap(dtype, EmitValue(Op::kAddRaw, a, b));
    case BinaryOp::kSub:
      if (cb == 0) return a;
      return checked ? EmitValue(wide ? Op::kSub64 : Op::kSub32, a, b) : Wrap(dtype, EmitValue(Op::kSubRaw, a, b));
    case BinaryOp::kMul:
      if (ca == 1) return b;
      if (cb == 1) return a;
      return checked ? EmitValue(wide ? Op::kMul64 : Op::kMul32, a, b) : Wrap(dtype, EmitValue(Op::kMulRaw, a, b));
    case BinaryOp::kDiv:
      return is_signed ? Wrap(dtype, EmitValue(Op::kDivS, a, b, 0, width)) : EmitValue(Op::kDivU, a, b);
    case BinaryOp::kMod:
      return EmitValue(is_signed ? Op::kModS : Op::kModU, a, b);
    case BinaryOp::kFloorDiv:
      return is_signed ? Wrap(dtype, EmitValue(Op::kFloorDiv, a, b, 0, width)) : EmitValue(Op::kDivU, a, b);
    case BinaryOp::kFloorMod:
      return EmitValue(is_signed ? Op::kFloorMod : Op::kModU, a, b);
    case BinaryOp::kMin:
      return EmitValue(is_signed ? Op::kMinS : Op::kMinU, a, b);
    default:
      return EmitValue(is_signed ? Op::kMaxS : Op::kMaxU, a, b);
  }
}

Reg Compiler::FloatLane(BinaryOp op, DataType dtype, Reg a, Reg b) {
  const bool f32 = dtype == DataType::Float(32);
  switch (op) {
    case BinaryOp::kAdd:
      return f32 ? EmitValue(Op::kAddF32, a, b) : Round(dtype, EmitValue(Op::kAddF, a, b));
    case BinaryOp::kSub:
      return f32 ? EmitValue(Op::kSubF32, a, b) : Round(dtype, EmitValue(Op::kSubF, a, b));
    case BinaryOp::kMul:
      return f32 ? EmitValue(Op::kMulF32, a, b) : Round(dtype, EmitValue(Op::kMulF, a, b));
    case BinaryOp::kDiv:
      return f32 ? EmitValue(Op::kDivF32, a, b) : Round(dtype, EmitValue(Op::kDivF, a, b));
    case BinaryOp::kMin:
      return EmitValue(Op::kMinF, a, b);
    case BinaryOp::kMax:
      return EmitValue(Op::kMaxF, a, b);
    default:
      break;
  }
  // The quotient towards minus infinity, and what remains; or, truncating, the remainder of fmod.
  const auto math2 = [&](Math2Function function) {
    code_.math2.push_back(function);
    return Round(dtype, EmitValue(Op::kMath2, a, b, 0, static_cast<int>(code_.math2.size()) - 1));
  };
  if (op == BinaryOp::kFloorDiv) return math2([](double x, double y) { return __builtin_floor(x / y); });
  if (op == BinaryOp::kFloorMod) return math2([](double x, double y) { return x - __builtin_floor(x / y) * y; });
  return math2([](double x, double y) { return __builtin_fmod(x, y); });
}

Reg Compiler::CompareLane(BinaryOp op, DataType dtype, Reg a, Reg b) {
  if (op == BinaryOp::kGT || op == BinaryOp::kGE) {
    std::swap(a, b);
    op = op == BinaryOp::kGT ? BinaryOp::kLT : BinaryOp::kLE;
  }
  const bool is_float = dtype.is_float(), is_signed = dtype.is_int();
  switch (op) {
    case BinaryOp::kEQ:
      return EmitValue(is_float ? Op::kEqF : Op::kEq, a, b);
    case BinaryOp::kNE:
      return EmitValue(is_float ? Op::kNeF : Op::kNe, a, b);
    case BinaryOp::kLT:
      return EmitValue(is_float ? Op::kLtF : is_signed ? Op::kLt : Op::kLtU, a, b);
    default:
      return EmitValue(is_float ? Op::kLeF : is_signed ? Op::kLe : Op::kLeU, a, b);
  }
}

Reg Compiler::CastLane(DataType from, DataType to, Reg value) {
  if (from == to || to.is_handle()) return value;
  if (to.is_bool()) {
    return from.is_float() ? EmitValue(Op::kFToBool, value) : EmitValue(Op::kNe, value, Constant(0));
  }
  if (to.is_float()) {
    if (!from.is_float()) {
      return EmitValue(from.is_int() ? Op::kIntToF : Op::kUIntToF, value, 0, 0, TypeIndex(to));
    }
    const bool exact = to.bits() == 64 || (to.bits() == 32 && from.bits() < 32);
    return exact ? value : Round(to, value);
  }
  if (from.is_float()) return EmitValue(Op::kFToInt, value, 0, 0, TypeIndex(to));
  const bool fits = from.is_int() == to.is_int() ? from.bits() <= to.bits() : to.is_int() && from.bits() < to.bits();
  return fits ? value : Wrap(to, value);
}

Reg Compiler::Wrap(DataType dtype, Reg value) {
  if (dtype.bits() == 64) return value;
  return EmitValue(dtype.is_int() ? Op::kSignExtend : Op::kZeroExtend, value, 0, 0, dtype.bits());
}

Reg Compiler::Round(DataType dtype, Reg value) {
  return dtype.bits() == 64 ? value : EmitValue(Op::kRound, value, 0, 0, TypeIndex(dtype));
}

Lanes Compiler::Choose(const Expr& condition, const Expr& true_value, const Expr& false_value, DataType dtype) {
  const Reg chosen = ScalarValue(condition);
  const auto lanes = static_cast<size_t>(dtype.lanes());
  const Reg first = NewReg(dtype.lanes());
  Lanes result;
  for (size_t i = 0; i < lanes; ++i) result.push_back(first + static_cast<Reg>(i));
  // What a branch computed is not known to the code after it.
  const size_t cached = cache_.size(), cached_offsets = offset_cache_.size();
  const auto branch = [&](const Expr& value) {
    const Lanes from = Value(value);
    for (size_t i = 0; i < lanes && i < from.size(); ++i) Emit(Op::kMove, result[i], from[i]);
    cache_.resize(cached);
    offset_cache_.resize(cached_offsets);
  };
  const size_t to_false = Emit(Op::kJumpIfZero, 0, chosen);
  branch(true_value);
  const size_t to_end = Emit(Op::kJump, 0);
  PatchToHere(to_false);
  branch(false_value);
  PatchToHere(to_end);
  return result;
}

}  // namespace tilewright::interp::internal
