#include "codegen/llvm/types.h"

#include <cmath>

#include "base/check.h"

namespace tilewright::codegen {
namespace {

llvm::Type* WithLanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

// `element` with as many lanes as `like` has.
llvm::Type* Like(llvm::Type* element, llvm::Value* like) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? element : llvm::FixedVectorType::get(element, vector->getNumElements());
}
llvm::Constant* Splat(llvm::Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

// float -> the nearest bfloat16, as a float: adds half of the lowest kept bit (less one when that bit is even) to the
// bit pattern; the carry runs into the exponent as it should. NaNs are kept apart, the addition could overflow them.
llvm::Value* RoundBFloat16(Builder& b, llvm::Value* value) {
  llvm::Type* i32 = Like(b.getInt32Ty(), value);
  llvm::Value* bits = b.CreateBitCast(value, i32);
  llvm::Value* lowest = b.CreateAnd(b.CreateLShr(bits, Splat(i32, 16)), Splat(i32, 1));
  llvm::Value* rounded = b.CreateAdd(bits, b.CreateAdd(lowest, Splat(i32, 0x7fff)));
  llvm::Value* quiet = b.CreateOr(bits, Splat(i32, 0x400000));
  llvm::Value* is_nan = b.CreateFCmpUNO(value, value);
  llvm::Value* kept = b.CreateAnd(b.CreateSelect(is_nan, quiet, rounded), Splat(i32, 0xffff0000));
  return b.CreateBitCast(kept, value->getType());
}

struct Fp8Format {
  int mantissa_bits;
  int bias;
  uint32_t max_bits;       // magnitude of the greatest finite value
  uint32_t overflow_bits;  // magnitude that larger values become
  uint32_t nan_bits;
};
constexpr Fp8Format kE4M3 = {3, 7, 0x7e, 0x7f, 0x7f};
constexpr Fp8Format kE5M2 = {2, 15, 0x7b, 0x7c, 0x7e};

const Fp8Format& FormatOf(DataType type) { return type.code() == TypeCode::kE4M3 ? kE4M3 : kE5M2; }

// float -> the eight bits. The exponent gets the difference of the biases, and the pattern is rounded to nearest even:
// the carry runs into the exponent as it should. Numbers below the least with an exponent are multiples of the least
// one: the addition of a number of which that is the last bit rounds to them. Neither step makes denormals of f32 or
// f64, for which processors stop for 150 cycles.
llvm::Value* EncodeFp8(Builder& b, const Fp8Format& format, llvm::Value* value) {
  llvm::Type* i32 = Like(b.getInt32Ty(), value);
  llvm::Type* f32 = Like(b.getFloatTy(), value);
  const auto shift = static_cast<uint64_t>(23 - format.mantissa_bits);
  const auto bias = static_cast<uint64_t>(127 - format.bias);
  llvm::Value* bits = b.CreateBitCast(value, i32);
  llvm::Value* magnitude = b.CreateAnd(bits, Splat(i32, 0x7fffffff));
  llvm::Value* lowest = b.CreateAnd(b.CreateLShr(magnitude, Splat(i32, shift)), Splat(i32, 1));
  llvm::Value* half = b.CreateAdd(lowest, Splat(i32, (uint64_t{1} << (shift - 1)) - 1));
  llvm::Value* with_exponent = b.CreateSub(b.CreateLShr(b.CreateAdd(magnitude, half), Splat(i32, shift)),
                                           Splat(i32, bias << static_cast<unsigned>(format.mantissa_bits)));
  llvm::Constant* last_bit = llvm::ConstantFP::get(f32, std::ldexp(1.0, 24 - format.mantissa_bits - format.bias));
  llvm::Value* sum = b.CreateFAdd(b.CreateBitCast(magnitude, f32), last_bit);
  llvm::Value* multiple = b.CreateSub(b.CreateBitCast(sum, i32), b.CreateBitCast(last_bit, i32));
  llvm::Value* has_exponent = b.CreateICmpUGE(magnitude, Splat(i32, (bias + 1) << 23));
  llvm::Value* rounded = b.CreateSelect(has_exponent, with_exponent, multiple);
  llvm::Value* overflow = b.CreateICmpUGT(rounded, Splat(i32, format.max_bits));
  rounded = b.CreateSelect(overflow, Splat(i32, format.overflow_bits), rounded);
  rounded = b.CreateSelect(b.CreateICmpUGT(magnitude, Splat(i32, 0x7f800000)), Splat(i32, format.nan_bits), rounded);
  llvm::Value* sign = b.CreateAnd(b.CreateLShr(bits, Splat(i32, 24)), Splat(i32, 0x80));
  return b.CreateTrunc(b.CreateOr(rounded, sign), Like(b.getInt8Ty(), value));
}

// The eight bits -> float: put under the exponent of f32, which gets the difference of the biases. Without an exponent
// of their own they are a multiple of the least number, what lies above the first power of two. Scaling by that
// difference would be shorter, but takes denormals of f32, for which processors stop for 150 cycles.
llvm::Value* DecodeFp8(Builder& b, const Fp8Format& format, llvm::Value* value) {
  llvm::Type* i32 = Like(b.getInt32Ty(), value);
  llvm::Type* f32 = Like(b.getFloatTy(), value);
  llvm::Value* bits = b.CreateZExt(value, i32);
  llvm::Value* magnitude = b.CreateAnd(bits, Splat(i32, 0x7f));
  llvm::Value* pattern = b.CreateShl(magnitude, Splat(i32, static_cast<uint64_t>(23 - format.mantissa_bits)));
  llvm::Value* has_exponent =
      b.CreateICmpUGE(magnitude, Splat(i32, uint64_t{1} << static_cast<unsigned>(format.mantissa_bits)));
  const auto bias = static_cast<uint64_t>(127 - format.bias);
  llvm::Value* rebased = b.CreateAdd(pattern, Splat(i32, bias << 23));
  llvm::Value* above = b.CreateBitCast(b.CreateAdd(pattern, Splat(i32, (bias + 1) << 23)), f32);
  llvm::Value* multiple = b.CreateFSub(above, llvm::ConstantFP::get(f32, std::ldexp(1.0, 1 - format.bias)));
  llvm::Value* result = b.CreateSelect(has_exponent, rebased, b.CreateBitCast(multiple, i32));
  llvm::Value* special = b.CreateICmpUGT(magnitude, Splat(i32, format.max_bits));
  llvm::Value* nan = Splat(i32, 0x7fc00000);
  llvm::Value* infinite = Splat(i32, 0x7f800000);
  // Only e5m2 has infinities.
  llvm::Value* is_infinite = b.CreateICmpEQ(magnitude, Splat(i32, 0x7c));
  llvm::Value* other = format.max_bits == kE5M2.max_bits ? b.CreateSelect(is_infinite, infinite, nan) : nan;
  result = b.CreateSelect(special, other, result);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(bits, Splat(i32, 0x80)), Splat(i32, 24));
  return b.CreateBitCast(b.CreateOr(result, sign), f32);
}

// double -> float, rounded to odd: towards zero, then the last bit is set where that lost anything. Rounding the result
// to a type with at least two bits fewer gives what rounding the double gives; two roundings to nearest would not.
llvm::Value* RoundToOdd(Builder& b, llvm::Value* value) {
  llvm::Type* f32 = Like(b.getFloatTy(), value);
  llvm::Type* i32 = Like(b.getInt32Ty(), value);
  llvm::Value* nearest = b.CreateFPTrunc(value, f32);
  llvm::Value* back = b.CreateFPExt(nearest, value->getType());
  llvm::Value* inexact = b.CreateFCmpONE(back, value);
  llvm::Value* away = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                      b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* bits = b.CreateSub(b.CreateBitCast(nearest, i32), b.CreateZExt(away, i32));
  return b.CreateBitCast(b.CreateOr(bits, b.CreateZExt(inexact, i32)), f32);
}

// A 64-bit integer whose conversion to double is exact and that every narrower type rounds like `value`: of magnitudes
// above 2^53 the low 11 bits become the one above them.
llvm::Value* KeepDoubleBits(Builder& b, llvm::Value* value, bool is_signed) {
  llvm::Type* type = value->getType();
  llvm::Value* magnitude = is_signed ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b.getFalse()) : value;
  llvm::Value* low = b.CreateAnd(magnitude, Splat(type, 0x7ff));
  llvm::Value* high = b.CreateXor(magnitude, low);
  llvm::Value* odd = b.CreateOr(high, b.CreateSelect(b.CreateIsNotNull(low), Splat(type, 0x800), Splat(type, 0)));
  llvm::Value* kept = b.CreateSelect(b.CreateICmpULT(magnitude, Splat(type, uint64_t{1} << 53)), magnitude, odd);
  if (!is_signed) return kept;
  return b.CreateSelect(b.CreateICmpSLT(value, Splat(type, 0)), b.CreateNeg(kept), kept);
}

llvm::Value* IntToFloat(Builder& b, DataType from, llvm::Value* value, llvm::Type* type) {
  return from.is_int() ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
}

// To a type with fewer bits than float: rounded once, from any type.
llvm::Value* ConvertNarrow(Builder& b, DataType from, DataType to, llvm::Value* value) {
  llvm::Type* f32 = Like(b.getFloatTy(), value);
  llvm::Type* f64 = Like(b.getDoubleTy(), value);
  // Integers beyond those that float holds are infinite in the types with fewer exponents than it has.
  if (!from.is_float() && from.bits() > 24 && to.code() == TypeCode::kBFloat) {
    if (from.bits() == 64) value = KeepDoubleBits(b, value, from.is_int());
    value = RoundToOdd(b, IntToFloat(b, from, value, f64));
  } else if (!from.is_float()) {
    value = IntToFloat(b, from, value, f32);
  } else if (from.bits() == 64) {
    value = RoundToOdd(b, value);
  } else if (value->getType() != f32) {
    value = b.CreateFPExt(value, f32);
  }
  return IsNarrowFloat(to) ? RoundNarrow(b, to, value) : b.CreateFPTrunc(value, RegisterType(b.getContext(), to));
}

llvm::Value* FloatToInt(Builder& b, DataType to, llvm::Value* value, llvm::Type* type) {
  return to.is_uint() ? b.CreateFPToUI(value, type) : b.CreateFPToSI(value, type);
}

}  // namespace

bool IsNarrowFloat(DataType type) { return type.is_float() && type.code() != TypeCode::kFloat; }

llvm::Type* RegisterType(llvm::LLVMContext& context, DataType type) {
  const int lanes = type.lanes();
  if (type.is_void()) return llvm::Type::getVoidTy(context);
  if (type.is_handle()) return llvm::PointerType::getUnqual(context);
  if (type.is_bool()) return WithLanes(llvm::Type::getInt1Ty(context), lanes);
  if (type.is_integer()) return WithLanes(llvm::Type::getIntNTy(context, static_cast<unsigned>(type.bits())), lanes);
  if (IsNarrowFloat(type) || type.bits() == 32) return WithLanes(llvm::Type::getFloatTy(context), lanes);
  return WithLanes(type.bits() == 64 ? llvm::Type::getDoubleTy(context) : llvm::Type::getHalfTy(context), lanes);
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DataType type) {
  if (type.is_bool() || type.is_integer() || IsNarrowFloat(type)) {
    return WithLanes(llvm::Type::getIntNTy(context, static_cast<unsigned>(type.bytes() * 8)), type.lanes());
  }
  return RegisterType(context, type);
}

llvm::Value* ToMemory(Builder& b, DataType type, llvm::Value* value) {
  llvm::Type* memory = MemoryType(b.getContext(), type);
  if (type.code() == TypeCode::kBFloat) {
    llvm::Type* i32 = Like(b.getInt32Ty(), value);
    return b.CreateTrunc(b.CreateLShr(b.CreateBitCast(value, i32), Splat(i32, 16)), memory);
  }
  if (IsNarrowFloat(type)) return EncodeFp8(b, FormatOf(type), value);
  if (value->getType() == memory) return value;
  return type.is_int() ? b.CreateSExt(value, memory) : b.CreateZExt(value, memory);
}

llvm::Value* FromMemory(Builder& b, DataType type, llvm::Value* value) {
  llvm::Type* in_register = RegisterType(b.getContext(), type);
  if (type.code() == TypeCode::kBFloat) {
    llvm::Type* i32 = Like(b.getInt32Ty(), value);
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(value, i32), Splat(i32, 16)), in_register);
  }
  if (IsNarrowFloat(type)) return DecodeFp8(b, FormatOf(type), value);
  if (value->getType() == in_register) return value;
  if (type.is_bool()) return b.CreateIsNotNull(value);
  return b.CreateTrunc(value, in_register);
}

llvm::Value* RoundNarrow(Builder& b, DataType type, llvm::Value* value) {
  if (type.code() == TypeCode::kBFloat) return RoundBFloat16(b, value);
  return DecodeFp8(b, FormatOf(type), EncodeFp8(b, FormatOf(type), value));
}

llvm::Value* CompareFloats(Builder& b, llvm::CmpInst::Predicate predicate, llvm::Value* x, llvm::Value* y,
                           bool has_halves) {
  llvm::Type* const type = x->getType();
  if (has_halves || !type->isVectorTy() || !type->getScalarType()->isHalfTy()) return b.CreateFCmp(predicate, x, y);
  // The magnitude with the sign, so that both zeros are 0.
  llvm::Type* const bits = type->getWithNewType(b.getInt16Ty());
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(bits, value); };
  llvm::Value* ordered = nullptr;
  const auto key = [&](llvm::Value* half) {
    llvm::Value* all = b.CreateBitCast(half, bits);
    llvm::Value* magnitude = b.CreateAnd(all, number(0x7fff));
    llvm::Value* is_number = b.CreateICmpULE(magnitude, number(0x7c00));
    ordered = ordered == nullptr ? is_number : b.CreateAnd(ordered, is_number);
    llvm::Value* sign = b.CreateAShr(all, number(15));
    return b.CreateSub(b.CreateXor(magnitude, sign), sign);
  };
  llvm::Value* key_x = key(x);
  llvm::Value* key_y = key(y);
  const bool or_unordered = llvm::CmpInst::isUnordered(predicate);
  const llvm::CmpInst::Predicate of_keys = [&] {
    switch (llvm::CmpInst::getOrderedPredicate(predicate)) {
      case llvm::CmpInst::FCMP_OEQ:
        return llvm::CmpInst::ICMP_EQ;
      case llvm::CmpInst::FCMP_ONE:
        return llvm::CmpInst::ICMP_NE;
      case llvm::CmpInst::FCMP_OLT:
        return llvm::CmpInst::ICMP_SLT;
      case llvm::CmpInst::FCMP_OLE:
        return llvm::CmpInst::ICMP_SLE;
      case llvm::CmpInst::FCMP_OGT:
        return llvm::CmpInst::ICMP_SGT;
      case llvm::CmpInst::FCMP_OGE:
        return llvm::CmpInst::ICMP_SGE;
      default:
        TW_UNREACHABLE();
    }
  }();
  llvm::Value* holds = b.CreateICmp(of_keys, key_x, key_y);
  return or_unordered ? b.CreateOr(holds, b.CreateNot(ordered)) : b.CreateAnd(holds, ordered);
}

llvm::Value* Convert(Builder& b, DataType from, DataType to, llvm::Value* value) {
  if (from == to || (from.is_handle() && to.is_handle())) return value;
  llvm::Type* type = RegisterType(b.getContext(), to);
  if (to.is_bool())
    return from.is_float() ? b.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()))
                           : b.CreateIsNotNull(value);
  if (to.is_handle()) return b.CreateIntToPtr(value, type);
  if (from.is_handle()) return b.CreatePtrToInt(value, type);
  if (to.is_integer()) {
    if (from.is_float()) return FloatToInt(b, to, value, type);
    return from.is_int() ? b.CreateSExtOrTrunc(value, type) : b.CreateZExtOrTrunc(value, type);
  }
  TW_CHECK(to.is_float()) << "conversion from " << from.ToString() << " to " << to.ToString();
  if (to.bits() < 32) return ConvertNarrow(b, from, to, value);
  return from.is_float() ? b.CreateFPCast(value, type) : IntToFloat(b, from, value, type);
}

}  // namespace tilewright::codegen
