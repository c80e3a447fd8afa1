// Functions of f32 that are computed in f64: most results are the nearest f32. One conversion at the end rounds to f32,
// also what overflows or is subnormal there, so that no function has to care for that.
//
// They are made for vectors: a single number takes longer than in the C library, which has tables and branches.
#include <array>
#include <bit>
#include <limits>
#include <numbers>

#include "codegen/llvm/float_code.h"
#include "codegen/llvm/polynomial.h"

namespace tilewright::codegen {
namespace {

using std::numbers::ln2;
using std::numbers::log10e;
using std::numbers::log2e;
using std::numbers::pi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// What logarithms return for an infinity. As f32 it is infinite; its product with zero is zero.
constexpr double kFar = 1e300;
// Adding 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
constexpr double kShift = 6755399441055744.0;

// 1 / (2 pi) as a binary fraction.
constexpr std::array<uint32_t, 7> kTurnsOfRadian = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770,
                                                    0x36d8a566, 0x4f10e410, 0x7f9458ea};

class WideFunctions {
 public:
  // `like`: an f32, or a vector of them.
  WideFunctions(Builder& builder, llvm::Value* like)
      : b_(builder), narrow_(like->getType()), f_(builder, narrow_->getWithNewType(builder.getDoubleTy())) {}

  FloatCode& code() { return f_; }
  llvm::Value* Widen(llvm::Value* x) { return b_.CreateFPExt(x, f_.Like(b_.getDoubleTy())); }
  llvm::Value* Rounded(llvm::Value* x) { return b_.CreateFPTrunc(x, narrow_); }
  llvm::Value* Less(llvm::Value* x, double limit) { return b_.CreateFCmpOLT(x, f_.Number(limit)); }

  // 2^t; infinite or zero as f32 beyond 1000.
  llvm::Value* Exp2(llvm::Value* t) {
    t = f_.ClampTo(t, -1000, 1000);
    llvm::Value* shifted = b_.CreateFAdd(t, f_.Number(kShift));
    llvm::Value* r = b_.CreateFSub(t, b_.CreateFSub(shifted, f_.Number(kShift)));
    llvm::Value* p = f_.Polynomial(r, {1.0000000005542122, 0.6931472057367292, 0.24022646889618174, 0.0555032877738606,
                                       0.009618489062732489, 0.0013399931199498279, 0.0001534578612421439});
    llvm::Value* exponent = b_.CreateAdd(f_.ToBits(shifted), f_.Bits(1023));
    return b_.CreateFMul(p, f_.FromBits(b_.CreateShl(exponent, f_.Bits(52))));
  }

  // The binary logarithm. x = 2^n m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
  llvm::Value* Log2(llvm::Value* x) {
    const auto least = f_.Bits(std::bit_cast<uint64_t>(std::numbers::sqrt2 / 2));
    llvm::Value* bits = b_.CreateSub(f_.ToBits(x), least);
    llvm::Value* m = f_.FromBits(b_.CreateAdd(b_.CreateAnd(bits, f_.Bits((uint64_t{1} << 52) - 1)), least));
    // n + 1024 under the exponent of 2^52.
    llvm::Value* n = b_.CreateLShr(b_.CreateAdd(bits, f_.Bits(uint64_t{1024} << 52)), f_.Bits(52));
    n = f_.FromBits(b_.CreateOr(n, f_.Bits(std::bit_cast<uint64_t>(0x1p52))));
    n = b_.CreateFSub(n, f_.Number(0x1p52 + 1024));
    llvm::Value* s = b_.CreateFDiv(b_.CreateFSub(m, f_.Number(1)), b_.CreateFAdd(m, f_.Number(1)));
    llvm::Value* p = f_.Polynomial(b_.CreateFMul(s, s), {2.88539008177785, 0.9617966941134958, 0.5770779423166432,
                                                         0.41220925760398086, 0.3199054687331116, 0.2829036073983321});
    llvm::Value* result = f_.Fma(s, p, n);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, f_.Number(kInfinity)), f_.Number(kFar), result);
    result = b_.CreateSelect(b_.CreateFCmpOEQ(x, f_.Number(0)), f_.Number(-kFar), result);
    return b_.CreateSelect(b_.CreateFCmpULT(x, f_.Number(0)), f_.Number(kNan), result);
  }

  llvm::Value* Log(llvm::Value* x) { return b_.CreateFMul(Log2(x), f_.Number(ln2)); }

  // The first terms of a series at zero where |x| is below `limit`, else `other`. The sum starts with x, so it keeps
  // the sign of zeros.
  llvm::Value* NearZero(llvm::Value* x, double limit, llvm::Value* factor, llvm::Value* other) {
    return b_.CreateSelect(Less(f_.Abs(x), limit), b_.CreateFMul(x, factor), other);
  }

  // atan of what is not negative and at most 1.
  llvm::Value* AtanToOne(llvm::Value* x) {
    llvm::Value* p = f_.Polynomial(b_.CreateFMul(x, x),
                                   {0.9999999996282528, -0.3333332393552473, 0.1999960464071967, -0.14279159677159675,
                                    0.11054501549273144, -0.0879877367390146, 0.06716112185075798, -0.04435757340770497,
                                    0.022274430365069105, -0.007199422986160516, 0.001091119205133856});
    return b_.CreateFMul(x, p);
  }

  llvm::Value* Atan(llvm::Value* x) {
    llvm::Value* a = f_.Abs(x);
    llvm::Value* large = b_.CreateFCmpOGT(a, f_.Number(1));
    llvm::Value* angle = AtanToOne(b_.CreateSelect(large, b_.CreateFDiv(f_.Number(1), a), a));
    return f_.CopySign(b_.CreateSelect(large, b_.CreateFSub(f_.Number(pi / 2), angle), angle), x);
  }

  // |x| = quadrant * pi / 2 + angle, the angle at most pi / 4 to either side.
  struct Angle {
    llvm::Value* quadrant;  // the low two bits of an i64
    llvm::Value* sine;
    llvm::Value* cosine;
    llvm::Value* odd;
  };
  Angle Reduce(llvm::Value* x) {
    const auto [small_quadrant, small] = ReduceSmall(x);
    const auto [large_quadrant, large] = ReduceLarge(x);
    FloatCode f32(b_, narrow_);
    llvm::Value* is_large = b_.CreateFCmpOGE(f32.Abs(x), f32.Number(0x1p26));
    llvm::Value* quadrant = b_.CreateSelect(is_large, large_quadrant, small_quadrant);
    llvm::Value* r = b_.CreateSelect(is_large, large, small);
    llvm::Value* r2 = b_.CreateFMul(r, r);
    llvm::Value* sine = f_.Polynomial(r2, {0.9999999999954501, -0.16666666630443142, 0.008333328689863983,
                                           -0.00019839178271348627, 2.7171520424329693e-06});
    llvm::Value* cosine = f_.Polynomial(r2, {0.9999999999439352, -0.49999999571531456, 0.04166661323076444,
                                             -0.0013886529063038755, 2.4372671310755306e-05});
    llvm::Value* odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, f_.Bits(1)), f_.Bits(0));
    return {quadrant, b_.CreateFMul(r, sine), cosine, odd};
  }

  // x with its sign flipped where bit 1 of `flips` is set.
  llvm::Value* Flip(llvm::Value* x, llvm::Value* flips) {
    llvm::Value* sign = b_.CreateShl(b_.CreateAnd(flips, f_.Bits(2)), f_.Bits(62));
    return f_.FromBits(b_.CreateXor(f_.ToBits(x), sign));
  }
  // x with its sign flipped where y is negative.
  llvm::Value* FlipLike(llvm::Value* x, llvm::Value* y) {
    llvm::Value* sign = b_.CreateAnd(f_.ToBits(Widen(y)), f_.Bits(uint64_t{1} << 63));
    return f_.FromBits(b_.CreateXor(f_.ToBits(x), sign));
  }

 private:
  // Up to 2^26, where the products of n and each of the first two parts of pi / 2, of 26 bits each, are exact.
  std::pair<llvm::Value*, llvm::Value*> ReduceSmall(llvm::Value* x) {
    llvm::Value* a = f_.Abs(Widen(x));
    llvm::Value* shifted = f_.Fma(a, f_.Number(2 / pi), f_.Number(kShift));
    llvm::Value* n = b_.CreateFSub(shifted, f_.Number(kShift));
    llvm::Value* r = a;
    for (const double part : {1.5707963109016418, 1.5893254712295857e-08, 6.123233995736766e-17}) {
      r = f_.Fma(n, f_.Number(-part), r);
    }
    return {f_.ToBits(shifted), r};
  }

  // From 2^26. |x| = m 2^e; the bits of 1 / (2 pi) down to 2^-e make whole turns. The next 96 times m give the fraction
  // of a turn to 64 bits (Payne and Hanek's reduction).
  std::pair<llvm::Value*, llvm::Value*> ReduceLarge(llvm::Value* x) {
    FloatCode f32(b_, narrow_);
    llvm::Value* bits = f32.ToBits(f32.Abs(x));
    llvm::Value* m = b_.CreateOr(b_.CreateAnd(bits, f32.Bits(0x7fffff)), f32.Bits(0x800000));
    llvm::Value* e = b_.CreateSub(b_.CreateLShr(bits, f32.Bits(23)), f32.Bits(150));
    llvm::Value* shift = b_.CreateAnd(e, f32.Bits(31));
    const auto bit_of_e = [&](uint64_t bit) { return b_.CreateICmpNE(b_.CreateAnd(e, f32.Bits(bit)), f32.Bits(0)); };
    llvm::Value *first = bit_of_e(32), *second = bit_of_e(64);
    std::array<llvm::Value*, 4> words;
    for (size_t i = 0; i < 4; ++i) {
      const auto word = [&](size_t at) { return f32.Bits(kTurnsOfRadian.at(i + at)); };
      words.at(i) =
          b_.CreateSelect(second, b_.CreateSelect(first, word(3), word(2)), b_.CreateSelect(first, word(1), word(0)));
    }
    llvm::Type* const i64 = f_.Like(b_.getInt64Ty());
    const auto product = [&](size_t i) {
      llvm::Value* window =
          b_.CreateIntrinsic(llvm::Intrinsic::fshl, {shift->getType()}, {words.at(i), words.at(i + 1), shift});
      return b_.CreateMul(b_.CreateZExt(window, i64), b_.CreateZExt(m, i64));
    };
    llvm::Value* turn = b_.CreateAdd(b_.CreateAdd(b_.CreateShl(product(0), f_.Bits(32)), product(1)),
                                     b_.CreateLShr(product(2), f_.Bits(32)));
    llvm::Value* quadrant = b_.CreateLShr(b_.CreateAdd(turn, f_.Bits(uint64_t{1} << 61)), f_.Bits(62));
    llvm::Value* rest = b_.CreateSub(turn, b_.CreateShl(quadrant, f_.Bits(62)));
    llvm::Type* const i32 = f_.Like(b_.getInt32Ty());
    llvm::Value* high = f_.ToFloat(b_.CreateTrunc(b_.CreateLShr(rest, f_.Bits(32)), i32));
    llvm::Value* low = b_.CreateUIToFP(b_.CreateTrunc(rest, i32), f_.Like(b_.getDoubleTy()));
    llvm::Value* r = b_.CreateFMul(f_.Fma(high, f_.Number(0x1p32), low), f_.Number(2 * pi * 0x1p-64));
    return {quadrant, b_.CreateSelect(b_.CreateFCmpOLT(f32.Abs(x), f32.Number(kInfinity)), r, f_.Number(kNan))};
  }

  Builder& b_;
  llvm::Type* narrow_;
  FloatCode f_;
};

}  // namespace

llvm::Value* EmitSin(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  const auto angle = wide.Reduce(x);
  llvm::Value* sine = wide.Flip(b.CreateSelect(angle.odd, angle.cosine, angle.sine), angle.quadrant);
  return wide.Rounded(wide.FlipLike(sine, x));
}

llvm::Value* EmitCos(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  const auto angle = wide.Reduce(x);
  llvm::Value* cosine = b.CreateSelect(angle.odd, angle.sine, angle.cosine);
  return wide.Rounded(wide.Flip(cosine, b.CreateAdd(angle.quadrant, wide.code().Bits(1))));
}

llvm::Value* EmitTan(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  const auto angle = wide.Reduce(x);
  llvm::Value* above = b.CreateSelect(angle.odd, angle.cosine, angle.sine);
  llvm::Value* below = b.CreateSelect(angle.odd, angle.sine, angle.cosine);
  llvm::Value* twice = b.CreateShl(angle.quadrant, wide.code().Bits(1));  // odd quadrants: the sign flips
  return wide.Rounded(wide.FlipLike(wide.Flip(b.CreateFDiv(above, below), twice), x));
}

llvm::Value* EmitAtan(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  return wide.Rounded(wide.Atan(wide.Widen(x)));
}

namespace {

// The angle whose sine is the argument, for numbers up to a half; above, the sine of half the angle that is left to a
// right one is sqrt((1 - a) / 2). Both are a square root, of which a series in the square follows.
struct ArcSine {
  llvm::Value* is_large;  // above a half
  llvm::Value* angle;     // of the argument's magnitude, or half of what is left
};
ArcSine EmitArcSine(Builder& b, FloatCode& f, llvm::Value* x) {
  llvm::Value* a = f.Abs(x);
  llvm::Value* is_large = b.CreateFCmpOGT(a, f.Number(0.5));
  llvm::Value* rest = b.CreateFMul(b.CreateFSub(f.Number(1), a), f.Number(0.5));
  llvm::Value* square = b.CreateSelect(is_large, rest, b.CreateFMul(a, a));
  llvm::Value* sine = f.Sqrt(square);
  llvm::Value* series =
      f.Polynomial(square, {0.16666667189849205, 0.07499948156208334, 0.04466016331612417, 0.030110257311376246,
                            0.02461832616035616, 0.007469256548534596, 0.03469279611282979});
  return {is_large, f.Fma(b.CreateFMul(sine, square), series, sine)};
}

}  // namespace

llvm::Value* EmitAsin(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  const ArcSine arc = EmitArcSine(b, f, x);
  llvm::Value* large = f.Fma(arc.angle, f.Number(-2), f.Number(pi / 2));
  return wide.Rounded(f.CopySign(b.CreateSelect(arc.is_large, large, arc.angle), x));
}

llvm::Value* EmitAcos(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  const ArcSine arc = EmitArcSine(b, f, x);
  llvm::Value* twice = b.CreateFAdd(arc.angle, arc.angle);
  llvm::Value* behind = b.CreateFCmpOLT(x, f.Number(0));
  llvm::Value* large = b.CreateSelect(behind, b.CreateFSub(f.Number(pi), twice), twice);
  llvm::Value* small = b.CreateFSub(f.Number(pi / 2), f.CopySign(arc.angle, x));
  return wide.Rounded(b.CreateSelect(arc.is_large, large, small));
}

llvm::Value* EmitAtan2(Builder& b, llvm::Value* y, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  y = wide.Widen(y);
  llvm::Value *across = f.Abs(x), *up = f.Abs(y);
  llvm::Value* steep = b.CreateFCmpOGT(up, across);
  llvm::Value* small = b.CreateSelect(steep, across, up);
  llvm::Value* large = b.CreateSelect(steep, up, across);
  // Two infinities count as equal numbers; two zeros give the angle 0.
  llvm::Value* same = b.CreateSelect(b.CreateFCmpOEQ(small, f.Number(0)), f.Number(0), f.Number(1));
  llvm::Value* tangent = b.CreateSelect(b.CreateFCmpOEQ(small, large), same, b.CreateFDiv(small, large));
  llvm::Value* angle = wide.AtanToOne(tangent);
  angle = b.CreateSelect(steep, b.CreateFSub(f.Number(pi / 2), angle), angle);
  llvm::Value* behind = b.CreateICmpSLT(f.ToBits(x), f.Bits(0));
  angle = f.CopySign(b.CreateSelect(behind, b.CreateFSub(f.Number(pi), angle), angle), y);
  return wide.Rounded(b.CreateSelect(b.CreateFCmpUNO(x, y), f.Number(kNan), angle));
}

llvm::Value* EmitSinh(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  llvm::Value* power = wide.Exp2(b.CreateFMul(f.Abs(x), f.Number(log2e)));
  llvm::Value* difference = b.CreateFSub(power, b.CreateFDiv(f.Number(1), power));
  llvm::Value* large = f.CopySign(b.CreateFMul(difference, f.Number(0.5)), x);
  llvm::Value* p = f.Polynomial(b.CreateFMul(x, x), {1.0000000000459748, 0.16666666430251612, 0.008333352592776068,
                                                     0.00019835812455397438, 2.81852395111427e-06});
  return wide.Rounded(wide.NearZero(x, 1, p, large));
}

llvm::Value* EmitCosh(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  llvm::Value* power = wide.Exp2(b.CreateFMul(wide.Widen(x), f.Number(log2e)));
  llvm::Value* sum = b.CreateFAdd(power, b.CreateFDiv(f.Number(1), power));
  return wide.Rounded(b.CreateFMul(sum, f.Number(0.5)));
}

llvm::Value* EmitAsinh(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  llvm::Value* a = f.Abs(x);
  llvm::Value* square = b.CreateFMul(x, x);
  llvm::Value* large = wide.Log(b.CreateFAdd(a, f.Sqrt(b.CreateFAdd(square, f.Number(1)))));
  llvm::Value* series = f.Polynomial(square, {1, -1.0 / 6, 3.0 / 40});
  return wide.Rounded(wide.NearZero(x, 0x1p-7, series, f.CopySign(large, x)));
}

llvm::Value* EmitAcosh(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  llvm::Value* square = b.CreateFMul(b.CreateFSub(x, f.Number(1)), b.CreateFAdd(x, f.Number(1)));
  llvm::Value* result = wide.Log(b.CreateFAdd(x, f.Sqrt(square)));
  return wide.Rounded(b.CreateSelect(b.CreateFCmpULT(x, f.Number(1)), f.Number(kNan), result));
}

llvm::Value* EmitAtanh(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  llvm::Value* ratio = b.CreateFDiv(b.CreateFAdd(f.Number(1), x), b.CreateFSub(f.Number(1), x));
  llvm::Value* large = b.CreateFMul(wide.Log(ratio), f.Number(0.5));
  llvm::Value* series = f.Polynomial(b.CreateFMul(x, x), {1, 1.0 / 3, 1.0 / 5});
  return wide.Rounded(wide.NearZero(x, 0x1p-10, series, large));
}

llvm::Value* EmitExp10(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  return wide.Rounded(wide.Exp2(b.CreateFMul(wide.Widen(x), wide.code().Number(1 / (ln2 * log10e)))));
}

llvm::Value* EmitLog2(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  return wide.Rounded(wide.Log2(wide.Widen(x)));
}

llvm::Value* EmitLog10(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  return wide.Rounded(b.CreateFMul(wide.Log2(wide.Widen(x)), wide.code().Number(ln2 * log10e)));
}

llvm::Value* EmitLog1p(Builder& b, llvm::Value* x, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  llvm::Value* large = wide.Log(b.CreateFAdd(x, f.Number(1)));
  return wide.Rounded(wide.NearZero(x, 0x1p-12, f.Polynomial(x, {1, -1.0 / 2, 1.0 / 3}), large));
}

llvm::Value* EmitHypot(Builder& b, llvm::Value* x, llvm::Value* y, const Target&) {
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  y = wide.Widen(y);
  llvm::Value* result = f.Sqrt(f.Fma(x, x, b.CreateFMul(y, y)));
  const auto infinite = [&](llvm::Value* side) { return b.CreateFCmpOEQ(f.Abs(side), f.Number(kInfinity)); };
  return wide.Rounded(b.CreateSelect(b.CreateOr(infinite(x), infinite(y)), f.Number(kInfinity), result));
}

llvm::Value* EmitWholePower(Builder& b, llvm::Value* x, llvm::Value* y) {
  constexpr int kMost = 8;
  auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* exponent = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (exponent == nullptr) return nullptr;
  for (int n = 1; n <= kMost; ++n) {
    if (!exponent->isExactlyValue(n)) continue;
    if (n == 1) return x;
    if (n == 2) return b.CreateFMul(x, x);
    WideFunctions wide(b, x);
    llvm::Value* product = wide.Widen(x);
    llvm::Value* factor = product;
    for (int i = 1; i < n; ++i) product = b.CreateFMul(product, factor);
    return wide.Rounded(product);
  }
  return nullptr;
}

// 2^(y log2 |x|), with the sign of x where y is an odd number.
llvm::Value* EmitPow(Builder& b, llvm::Value* x, llvm::Value* y, const Target&) {
  if (llvm::Value* product = EmitWholePower(b, x, y)) return product;
  WideFunctions wide(b, x);
  FloatCode& f = wide.code();
  x = wide.Widen(x);
  // The power by 2^32 is infinite or zero unless |x| is 1.
  y = f.ClampTo(wide.Widen(y), -0x1p32, 0x1p32);
  llvm::Value* power = wide.Exp2(b.CreateFMul(y, wide.Log2(f.Abs(x))));
  llvm::Value* shifted = b.CreateFAdd(y, f.Number(kShift));
  llvm::Value* whole = b.CreateFCmpOEQ(b.CreateFSub(shifted, f.Number(kShift)), y);
  llvm::Value* odd = b.CreateAnd(whole, b.CreateTrunc(f.ToBits(shifted), f.Like(b.getInt1Ty())));
  power = b.CreateSelect(odd, f.CopySign(power, x), power);
  llvm::Value* negative = b.CreateAnd(wide.Less(x, 0), b.CreateFCmpOGT(x, f.Number(-kInfinity)));
  power = b.CreateSelect(b.CreateAnd(negative, b.CreateNot(whole)), f.Number(kNan), power);
  llvm::Value* one = b.CreateOr(b.CreateFCmpOEQ(x, f.Number(1)), b.CreateFCmpOEQ(y, f.Number(0)));
  return wide.Rounded(b.CreateSelect(one, f.Number(1), power));
}

}  // namespace tilewright::codegen
