#include "codegen/llvm/polynomial.h"

#include <limits>
#include <optional>

#include "codegen/llvm/float_code.h"
#include "codegen/llvm/processors.h"

namespace tilewright::codegen {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr double kShift = 12582912.0;  // 1.5 * 2^23

// The ends of an exponential's range, and p * 2^n between them. Results that are subnormal are zero. Computed, each
// would be an underflow, as those of masked scores are: it takes x86 processors a hundred cycles or more, and so does
// each operation on a subnormal number. NaN stays NaN.
class ExponentialRange {
 public:
  // Results of arguments up to `least` are zero, those above `greatest` infinite. No argument is above 0 without it.
  ExponentialRange(Builder& b, llvm::Value* x, double least, std::optional<double> greatest, const Target& target)
      : b_(b), f_(b, x->getType()), x_(x), greatest_(greatest), processor_(ProcessorOf(target)), target_(target) {
    above_least_ = b.CreateFCmpUGT(x, f_.Number(least));
    if (!HasScale()) return;
    // The instruction overflows as it should, but must not underflow.
    x_ = b.CreateSelect(above_least_, x, f_.Number(0.0));
    if (greatest) x_ = f_.AtMost(x_, *greatest + 1);
  }

  llvm::Value* argument() const { return x_; }

  // p * 2^n, where n is what `shifted` was rounded to by adding 1.5 * 2^23.
  llvm::Value* Scaled(llvm::Value* p, llvm::Value* shifted, llvm::Value* n) {
    llvm::Value* result = HasScale() ? processor_.EmitScale(b_, p, n) : ScaledByBits(p, shifted);
    return b_.CreateSelect(above_least_, result, f_.Number(0.0));
  }

 private:
  bool HasScale() const { return processor_.HasScale(x_->getType(), target_); }

  // Within the range, the result is a normal number. 2^n is one where it is at most 1. Else n may be 128, and is added
  // to the exponent of p, which is less than 1 then.
  llvm::Value* ScaledByBits(llvm::Value* p, llvm::Value* shifted) {
    llvm::Value* power = b_.CreateShl(f_.ToBits(shifted), f_.Bits(23));
    if (!greatest_) return b_.CreateFMul(p, f_.FromBits(b_.CreateAdd(power, f_.Bits(0x3f800000))));
    llvm::Value* infinite = b_.CreateFMul(x_, f_.Number(std::numeric_limits<float>::max()));
    llvm::Value* finite = b_.CreateFCmpOLE(x_, f_.Number(*greatest_));
    return b_.CreateSelect(finite, f_.FromBits(b_.CreateAdd(f_.ToBits(p), power)), infinite);
  }

  Builder& b_;
  FloatCode f_;
  llvm::Value *x_, *above_least_;
  const std::optional<double> greatest_;
  const Processor& processor_;
  const Target& target_;
};

// x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
llvm::Value* EmitExpUpTo(std::optional<double> greatest, Builder& b, llvm::Value* x, const Target& target) {
  FloatCode f(b, x->getType());
  ExponentialRange range(b, x, -87.33655, greatest, target);  // the logarithm of 2^-126, the least normal number
  x = range.argument();
  llvm::Value* shifted = f.Fma(x, f.Number(1.4426950408889634), f.Number(kShift));
  llvm::Value* n = b.CreateFSub(shifted, f.Number(kShift));
  llvm::Value* r = f.Fma(n, f.Number(-0.693145751953125), x);
  r = f.Fma(n, f.Number(-1.4286068203094172e-6), r);
  llvm::Value* p = f.Polynomial(
      r, {0.4999999341226092, 0.1666652010554613, 0.04166839425916145, 0.00836878062223369, 0.0013814464752015627});
  p = b.CreateFAdd(f.Fma(b.CreateFMul(r, r), p, r), f.Number(1.0));
  return range.Scaled(p, shifted, n);
}

}  // namespace

// Up to the logarithm of the greatest number.
llvm::Value* EmitExp(Builder& b, llvm::Value* x, const Target& target) { return EmitExpUpTo(88.72283, b, x, target); }

// x = n + r with |r| <= 1/2.
llvm::Value* EmitExp2(Builder& b, llvm::Value* x, const Target& target) {
  FloatCode f(b, x->getType());
  ExponentialRange range(b, x, -126.00001, 127.99999, target);
  x = range.argument();
  llvm::Value* shifted = b.CreateFAdd(x, f.Number(kShift));
  llvm::Value* n = b.CreateFSub(shifted, f.Number(kShift));
  llvm::Value* r = b.CreateFSub(x, n);
  llvm::Value* p = f.Polynomial(r, {0.6931471879258291, 0.24022649794888049, 0.05550357434310256, 0.00961823751489146,
                                    0.0013390735508672534, 0.00015403506102441427});
  p = f.Fma(r, p, f.Number(1.0));
  return range.Scaled(p, shifted, n);
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)); log x = n ln 2 + log(1 + (m - 1)).
llvm::Value* EmitLog(Builder& b, llvm::Value* x, const Target&) {
  FloatCode f(b, x->getType());
  // Subnormals are scaled into the normal range first.
  llvm::Value* small = b.CreateFCmpOLT(x, f.Number(1.17549435e-38));
  llvm::Value* scaled = b.CreateSelect(small, b.CreateFMul(x, f.Number(8388608.0)), x);
  llvm::Value* bits = b.CreateSub(f.ToBits(scaled), f.Bits(0x3f3504f3));  // sqrt(1/2)
  llvm::Value* n = b.CreateAShr(bits, f.Bits(23));
  llvm::Value* m = f.FromBits(b.CreateAdd(b.CreateAnd(bits, f.Bits(0x7fffff)), f.Bits(0x3f3504f3)));
  llvm::Value* e = b.CreateFSub(f.ToFloat(n), b.CreateSelect(small, f.Number(23.0), f.Number(0.0)));
  llvm::Value* t = b.CreateFSub(m, f.Number(1.0));
  llvm::Value* p = f.Polynomial(
      t, {0.3333331260280285, -0.25000009603654155, 0.2000211873220221, -0.1666799566710242, 0.14219550908241485,
          -0.12405591417004296, 0.1188817459820959, -0.11675641304033416, 0.06746601328700788});
  llvm::Value* t2 = b.CreateFMul(t, t);
  llvm::Value* low = f.Fma(e, f.Number(1.4286068203094172e-6), b.CreateFMul(b.CreateFMul(t, t2), p));
  low = f.Fma(t2, f.Number(-0.5), low);
  llvm::Value* result = f.Fma(e, f.Number(0.693145751953125), b.CreateFAdd(t, low));
  result = b.CreateSelect(b.CreateFCmpOEQ(x, f.Number(kInfinity)), x, result);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, f.Number(0.0)), f.Number(-kInfinity), result);
  return b.CreateSelect(b.CreateFCmpULT(x, f.Number(0.0)), f.Number(std::numeric_limits<float>::quiet_NaN()), result);
}

// t / (t + 2) with t = exp(2 |x|) - 1, which loses no digits near zero and none near 1. 2 |x| = n ln 2 + 2 r with
// |r| <= ln 2 / 4, so t = 2^n (exp(2 r) - 1) + 2^n - 1. From 9.02 on the result is 1 in f32, so n is at most 26.
llvm::Value* EmitTanh(Builder& b, llvm::Value* x, const Target&) {
  FloatCode f(b, x->getType());
  llvm::Value* a = f.AtMost(f.Abs(x), 9.02);
  llvm::Value* shifted = f.Fma(a, f.Number(2.8853900817779268), f.Number(kShift));
  llvm::Value* n = b.CreateFSub(shifted, f.Number(kShift));
  llvm::Value* r = f.Fma(n, f.Number(-0.3465728759765625), a);
  r = f.Fma(n, f.Number(-7.143034101547086e-7), r);
  llvm::Value* p = f.Polynomial(
      r, {1.9999999263924535, 1.3333235092851147, 0.66667517999757264, 0.26772759850706544, 0.08884819157643386});
  p = f.Fma(b.CreateFMul(r, r), p, b.CreateFAdd(r, r));
  llvm::Value* power = f.FromBits(b.CreateAdd(b.CreateShl(f.ToBits(shifted), f.Bits(23)), f.Bits(0x3f800000)));
  llvm::Value* t = f.Fma(power, p, b.CreateFSub(power, f.Number(1.0)));
  return f.CopySign(b.CreateFDiv(t, b.CreateFAdd(t, f.Number(2.0))), x);
}

// x P(x^2) up to 1; then 1 - exp(Q(|x|)), Q the logarithm of erfc, until the result is 1 in f32.
llvm::Value* EmitErf(Builder& b, llvm::Value* x, const Target& target) {
  FloatCode f(b, x->getType());
  llvm::Value* a = f.Abs(x);
  llvm::Value* p = f.Polynomial(b.CreateFMul(x, x),
                                {1.128379165732346, -0.3761262583975127, 0.11283585270823988, -0.026853816070429533,
                                 0.005188334502499439, -0.0008010247661616482, 7.854026335186637e-05});
  llvm::Value* limited = f.ClampTo(a, 0.0, 4.0);
  llvm::Value* q = f.Polynomial(
      limited, {0.0001884677839039473, -1.129580311888611, -0.6332163949683146, -0.10842210264886622,
                0.025210342293795762, -0.004205285893765514, 0.00044147291600115534, -2.169763896762405e-05});
  llvm::Value* large = b.CreateFSub(f.Number(1.0), EmitExpUpTo(std::nullopt, b, q, target));
  return b.CreateSelect(b.CreateFCmpOLT(a, f.Number(1.0)), b.CreateFMul(x, p), f.CopySign(large, x));
}

// exp(x) / (1 + exp(x)) for negative x, where 1 + exp(-x) overflows before the result is zero.
llvm::Value* EmitSigmoid(Builder& b, llvm::Value* x, const Target& target) {
  FloatCode f(b, x->getType());
  llvm::Value* e = EmitExpUpTo(std::nullopt, b, b.CreateFNeg(f.Abs(x)), target);
  llvm::Value* above = b.CreateSelect(b.CreateFCmpOLT(x, f.Number(0.0)), e, f.Number(1.0));
  return b.CreateFDiv(above, b.CreateFAdd(f.Number(1.0), e));
}

}  // namespace tilewright::codegen
