// Numbers that are rounded, clamped and converted to bytes, as requantization does it:
//
//   uint8(min(max(nearbyint(x), 0), 255))    ->    sqxtun(sqxtn(fcvtns(x)))
//
// One instruction converts and rounds to nearest, those that narrow saturate: limits that are the type's own need no
// instruction. A limit that is an integer may be applied before rounding or after it. The innermost one also says what
// becomes of NaN, of which the conversion makes 0: it is left out for numbers alone.
#include <cmath>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/types.h"
#include "llvm/IR/IntrinsicsAArch64.h"

namespace tilewright::codegen {
namespace {

constexpr int kPiece = 4;  // elements of f32 in a register

std::optional<double> ConstantOf(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  const auto* number = dyn_cast<FloatImmNode>(broadcast != nullptr ? broadcast->value : e);
  return number != nullptr && std::isfinite(number->value) ? std::optional(number->value) : std::nullopt;
}

bool IsFinite(const Expr& e) {
  const auto* cast_node = dyn_cast<CastNode>(e);
  return ConstantOf(e) || (cast_node != nullptr && cast_node->value.dtype().is_integer());
}

// Whether `e` cannot be NaN: integers with a scale and offsets.
bool IsNumber(const Expr& e) {
  if (IsFinite(e)) return true;
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr) return false;
  if (binary->op == BinaryOp::kMul) return IsFinite(binary->a) && IsFinite(binary->b);
  const bool offset = binary->op == BinaryOp::kAdd || binary->op == BinaryOp::kSub;
  return offset && IsNumber(binary->a) && IsFinite(binary->b);
}

// What is rounded, with the limits that saturating does not apply; null where `e` is not a rounded number between two
// limits within those of the type.
Expr BeforeSaturating(const Expr& e, double low, double high) {
  std::vector<const BinaryNode*> limits;  // the outermost one first
  Expr value = e;
  bool has_low = false, has_high = false;
  for (const auto* limit = dyn_cast<BinaryNode>(value); limit != nullptr; limit = dyn_cast<BinaryNode>(value)) {
    const std::optional<double> bound = ConstantOf(limit->b);
    if (!bound || std::nearbyint(*bound) != *bound || *bound < low || *bound > high) return {};
    if (limit->op != BinaryOp::kMin && limit->op != BinaryOp::kMax) return {};
    (limit->op == BinaryOp::kMin ? has_high : has_low) = true;
    limits.push_back(limit);
    value = limit->a;
  }
  const auto* rounded = dyn_cast<CallNode>(value);
  if (rounded == nullptr || (rounded->op != "nearbyint" && rounded->op != "round") || !has_low || !has_high) return {};
  value = rounded->args[0];
  bool innermost = !IsNumber(value);
  for (auto limit = limits.rbegin(); limit != limits.rend(); ++limit) {
    const bool own = *ConstantOf((*limit)->b) == ((*limit)->op == BinaryOp::kMin ? high : low);
    if (innermost || !own) value = MakeBinary((*limit)->op, value, (*limit)->b);
    innermost = false;
  }
  return value;
}

}  // namespace

llvm::Value* FunctionEmitter::EmitSaturated(const CastNode* op) {
  const DataType to = op->dtype();
  const int lanes = to.lanes();
  if (!to.is_integer() || to.bits() != 8 || lanes % kPiece != 0) return nullptr;
  const Expr before = BeforeSaturating(op->value, to.is_int() ? -128 : 0, to.is_int() ? 127 : 255);
  if (!before) return nullptr;
  llvm::Value* numbers = Emit(before);
  const auto part = [&](llvm::Value* vector, int first, int count) {
    llvm::SmallVector<int> picked;
    for (int lane = first; lane < first + count; ++lane) picked.push_back(lane);
    return builder_.CreateShuffleVector(vector, picked);
  };
  const auto vector_of = [&](unsigned bits, unsigned count) {
    return llvm::FixedVectorType::get(builder_.getIntNTy(bits), count);
  };
  const auto halves = [&](int first) -> llvm::Value* {
    if (first >= lanes) return llvm::PoisonValue::get(vector_of(16, kPiece));
    llvm::Value* rounded =
        builder_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_fcvtns,
                                 {vector_of(32, kPiece), llvm::FixedVectorType::get(builder_.getFloatTy(), kPiece)},
                                 {part(numbers, first, kPiece)});
    return builder_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_sqxtn, {vector_of(16, kPiece)}, {rounded});
  };
  const auto narrow = to.is_int() ? llvm::Intrinsic::aarch64_neon_sqxtn : llvm::Intrinsic::aarch64_neon_sqxtun;
  const auto join = [&](llvm::Value* low, llvm::Value* high, int each) {
    llvm::SmallVector<int> all;
    for (int lane = 0; lane < 2 * each; ++lane) all.push_back(lane);
    return builder_.CreateShuffleVector(low, high, all);
  };
  llvm::Value* result = llvm::PoisonValue::get(RegisterType(context_.llvm, to));
  for (int first = 0; first < lanes; first += 2 * kPiece) {
    llvm::Value* bytes = builder_.CreateIntrinsic(narrow, {vector_of(8, 2 * kPiece)},
                                                  {join(halves(first), halves(first + kPiece), kPiece)});
    const int count = std::min(2 * kPiece, lanes - first);
    if (count == 2 * kPiece && count == lanes) return bytes;
    // Four bytes are a number: LLVM would widen each again to take them apart.
    if (count == lanes) {
      llvm::Value* number = builder_.CreateExtractElement(builder_.CreateBitCast(bytes, vector_of(32, 2)), uint64_t{0});
      return builder_.CreateBitCast(number, RegisterType(context_.llvm, to));
    }
    // Lanes of the result, those of these bytes behind them.
    llvm::SmallVector<int> widened, picked;
    for (int lane = 0; lane < lanes; ++lane) {
      const int of_bytes = lane - first;
      const bool here = of_bytes >= 0 && of_bytes < count;
      widened.push_back(here ? of_bytes : -1);
      picked.push_back(here ? lanes + lane : lane);
    }
    result = builder_.CreateShuffleVector(result, builder_.CreateShuffleVector(bytes, widened), picked);
  }
  return result;
}

}  // namespace tilewright::codegen
