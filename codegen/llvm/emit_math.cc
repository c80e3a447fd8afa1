// Math builtins. In order of preference: one machine instruction, our own code (f32 and narrower; some functions of
// vectors only), the C library lane by lane.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/float_code.h"
#include "codegen/llvm/polynomial.h"
#include "codegen/llvm/vector_variants.h"

namespace tilewright::codegen {
namespace {

using Polynomial = llvm::Value* (*)(Builder&, llvm::Value*, const Target&);
using PolynomialOfTwo = llvm::Value* (*)(Builder&, llvm::Value*, llvm::Value*, const Target&);
// A single number goes to the C library where that is faster than the code for vectors.
enum class Single { kCode, kLibrary };
struct NamedPolynomial {
  std::string_view name;
  Polynomial of_one;
  PolynomialOfTwo of_two = nullptr;
  Single single = Single::kLibrary;
};
constexpr NamedPolynomial kPolynomials[] = {
    {"exp", EmitExp, nullptr, Single::kCode},
    {"exp2", EmitExp2, nullptr, Single::kCode},
    {"log", EmitLog, nullptr, Single::kCode},
    {"tanh", EmitTanh, nullptr, Single::kCode},
    {"erf", EmitErf, nullptr, Single::kCode},
    {"sigmoid", EmitSigmoid, nullptr, Single::kCode},
    {"hypot", nullptr, EmitHypot, Single::kCode},
    {"exp10", EmitExp10},
    {"log2", EmitLog2},
    {"log10", EmitLog10},
    {"log1p", EmitLog1p},
    {"sin", EmitSin},
    {"cos", EmitCos},
    {"tan", EmitTan},
    {"asin", EmitAsin},
    {"acos", EmitAcos},
    {"atan", EmitAtan},
    {"sinh", EmitSinh},
    {"cosh", EmitCosh},
    {"asinh", EmitAsinh},
    {"acosh", EmitAcosh},
    {"atanh", EmitAtanh},
    {"pow", nullptr, EmitPow},
    {"atan2", nullptr, EmitAtan2},
};

const NamedPolynomial* FindPolynomial(std::string_view name) {
  const auto* found = std::ranges::find(kPolynomials, name, &NamedPolynomial::name);
  return found == std::end(kPolynomials) ? nullptr : found;
}

llvm::Value* EmitPolynomial(const NamedPolynomial& function, Builder& b, llvm::ArrayRef<llvm::Value*> args,
                            const Target& target) {
  return function.of_one != nullptr ? function.of_one(b, args[0], target)
                                    : function.of_two(b, args[0], args[1], target);
}

struct NamedIntrinsic {
  std::string_view name;
  llvm::Intrinsic::ID id;
};
// One instruction each, on vectors too.
constexpr NamedIntrinsic kInstructions[] = {
    {"sqrt", llvm::Intrinsic::sqrt},        {"floor", llvm::Intrinsic::floor},
    {"ceil", llvm::Intrinsic::ceil},        {"trunc", llvm::Intrinsic::trunc},
    {"round", llvm::Intrinsic::nearbyint},  {"nearbyint", llvm::Intrinsic::nearbyint},
    {"round_away", llvm::Intrinsic::round}, {"copysign", llvm::Intrinsic::copysign},
    {"fma", llvm::Intrinsic::fma},
};

// Functions of the C library by their names for double.
constexpr std::string_view kLibraryFunctions[] = {
    "exp",  "exp2", "exp10", "log",  "log2",  "log10", "log1p", "sin", "cos", "tan",   "asin",  "acos",
    "atan", "sinh", "cosh",  "tanh", "asinh", "acosh", "atanh", "erf", "pow", "atan2", "hypot", "fmod",
};

}  // namespace

// Computes in the type that the values have in registers, f32 for float16.
class MathEmitter {
 public:
  MathEmitter(FunctionEmitter& emitter, const CallNode* op) : emitter_(emitter), b_(emitter.builder_), op_(op) {}

  llvm::Value* Emit() {
    const std::string& name = op_->op;
    const DataType type = op_->dtype();
    if (name == "infinity") {
      return llvm::ConstantFP::getInfinity(RegisterType(b_.getContext(), type));
    }
    if (name == "isnan" || name == "isinf" || name == "isfinite") return EmitClass(name);
    if (name == "abs" && type.is_integer()) {
      if (type.is_uint()) return emitter_.Emit(op_->args[0]);
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, emitter_.Emit(op_->args[0]), b_.getFalse());
    }
    if (!type.is_float()) return nullptr;
    if (name == "nextafter" && op_->args[0].dtype() == type && op_->args[1].dtype() == type) return EmitNextAfter(type);
    if (name == "ldexp" && op_->args[0].dtype() == type && op_->args[1].dtype().is_integer()) return EmitLdexp(type);
    for (const Expr& arg : op_->args) {
      if (arg.dtype() != type) return nullptr;
      llvm::Value* value = emitter_.Emit(arg);
      args_.push_back(type == Half(type) ? b_.CreateFPExt(value, FloatType(type)) : value);
    }
    llvm::Value* result = Compute(name, type);
    if (result == nullptr) return nullptr;
    if (type == Half(type)) return b_.CreateFPTrunc(result, RegisterType(b_.getContext(), type));
    return emitter_.Narrowed(type, result);
  }

 private:
  static DataType Half(DataType type) { return DataType::Float(16, type.lanes()); }
  llvm::Type* FloatType(DataType type) { return RegisterType(b_.getContext(), DataType::Float(32, type.lanes())); }

  llvm::Value* EmitClass(const std::string& name) {
    llvm::Value* x = emitter_.Emit(op_->args[0]);
    if (name == "isnan") return b_.CreateFCmpUNO(x, x);
    llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
    return name == "isinf" ? b_.CreateFCmpOEQ(magnitude, infinity) : b_.CreateFCmpOLT(magnitude, infinity);
  }

  // The bits of magnitudes are ordered as the magnitudes are: one more or one less.
  llvm::Value* EmitNextAfter(DataType type) {
    llvm::Value* from = emitter_.Emit(op_->args[0]);
    llvm::Value* to = emitter_.Emit(op_->args[1]);
    llvm::Type* bits_type = RegisterType(b_.getContext(), DataType::UInt(type.bits(), type.lanes()));
    const auto bits_of = [&](llvm::Value* value) { return b_.CreateBitCast(ToMemory(b_, type, value), bits_type); };
    const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(bits_type, value); };
    llvm::Value* zero = llvm::Constant::getNullValue(from->getType());
    llvm::Value* grows = b_.CreateICmpEQ(b_.CreateFCmpOLT(from, to), b_.CreateFCmpOGT(from, zero));
    llvm::Value* step = b_.CreateSelect(grows, number(1), llvm::ConstantInt::getAllOnesValue(bits_type));
    llvm::Value* next = b_.CreateAdd(bits_of(from), step);
    const uint64_t sign = uint64_t{1} << (type.bits() - 1);
    llvm::Value* least = b_.CreateOr(b_.CreateAnd(bits_of(to), number(sign)), number(1));
    next = b_.CreateSelect(b_.CreateFCmpOEQ(from, zero), least, next);
    next = b_.CreateSelect(b_.CreateFCmpOEQ(from, to), bits_of(to), next);
    llvm::Value* nan = bits_of(llvm::ConstantFP::getNaN(from->getType()));
    next = b_.CreateSelect(b_.CreateFCmpUNO(from, to), nan, next);
    return FromMemory(b_, type, b_.CreateBitCast(next, MemoryType(b_.getContext(), type)));
  }

  llvm::Value* EmitLdexp(DataType type) {
    // Beyond 5000 doublings or halvings every number is infinite or zero.
    constexpr int kMost = 5000;
    const DataType wide = DataType::Int(64, type.lanes()), count = DataType::Int(32, type.lanes());
    llvm::Value* by = Convert(b_, op_->args[1].dtype(), wide, emitter_.Emit(op_->args[1]));
    const auto limit = [&](int64_t n) { return llvm::ConstantInt::getSigned(by->getType(), n); };
    by = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, by, limit(-kMost));
    by = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, by, limit(kMost));
    llvm::Value* value = emitter_.Emit(op_->args[0]);
    args_ = {type == Half(type) ? b_.CreateFPExt(value, FloatType(type)) : value, Convert(b_, wide, count, by)};
    llvm::Value* result = CallLibrary("ldexp", type);
    if (type == Half(type)) return b_.CreateFPTrunc(result, RegisterType(b_.getContext(), type));
    return emitter_.Narrowed(type, result);
  }

  llvm::Value* Compute(const std::string& name, DataType type) {
    if (name == "abs") return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, args_[0]);
    llvm::Value* one = llvm::ConstantFP::get(args_[0]->getType(), 1.0);
    if (name == "rsqrt") return b_.CreateFDiv(one, b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args_[0]));
    for (const NamedIntrinsic& known : kInstructions) {
      if (known.name == name) return b_.CreateIntrinsic(known.id, {args_[0]->getType()}, args_);
    }
    if (type.bits() <= 32) {
      if (const NamedPolynomial* known = FindPolynomial(name)) return EmitFloat(*known, type);
    }
    if (name == "sigmoid") {
      args_[0] = b_.CreateFNeg(args_[0]);
      return b_.CreateFDiv(one, b_.CreateFAdd(one, CallLibrary("exp", type)));
    }
    if (name == "fmod" && !type.is_scalar() && type.bits() <= 32) return EmitRemainders(type);
    for (std::string_view known : kLibraryFunctions) {
      if (known == name) return CallLibrary(name, type);
    }
    return nullptr;
  }

  // x - trunc(x / y) * y in f64. A quotient below 2^28 of numbers with 24 bits is further from the integer above it
  // than it is rounded, and the product has 52 bits: the remainder is exact. The library computes vectors with other
  // lanes: larger quotients, infinities, zeros and NaN.
  llvm::Value* EmitRemainders(DataType type) {
    FloatCode f(b_, RegisterType(b_.getContext(), DataType::Float(64, type.lanes())));
    const auto widened = [&](llvm::Value* v) { return f.Abs(b_.CreateFPExt(v, f.Like(b_.getDoubleTy()))); };
    llvm::Value* x = widened(args_[0]);
    llvm::Value* y = widened(args_[1]);
    llvm::Value* quotient = b_.CreateFDiv(x, y);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(y->getType());
    llvm::Value* fits = b_.CreateAnd(b_.CreateFCmpOLT(quotient, f.Number(0x1p28)), b_.CreateFCmpOLT(y, infinity));
    llvm::Value* whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
    llvm::Value* rest = b_.CreateFPTrunc(b_.CreateFSub(x, b_.CreateFMul(whole, y)), args_[0]->getType());
    rest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rest, args_[0]);

    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* call = emitter_.NewBlock("remainders");
    llvm::BasicBlock* done = emitter_.NewBlock("remainders.done");
    b_.CreateCondBr(b_.CreateAndReduce(fits), done, call);
    b_.SetInsertPoint(call);
    llvm::Value* called = CallLibrary("fmod", type);
    llvm::BasicBlock* after = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* result = b_.CreatePHI(rest->getType(), 2);
    result->addIncoming(rest, before);
    result->addIncoming(called, after);
    return result;
  }

  llvm::Value* EmitFloat(const NamedPolynomial& function, DataType type) {
    const Target& target = emitter_.context_.target;
    if (type.is_scalar() && function.single == Single::kLibrary) {
      if (function.name == "pow") {
        if (llvm::Value* product = EmitWholePower(b_, args_[0], args_[1])) return product;
      }
      llvm::Value* call = CallLibrary(std::string(function.name), type);
      DeclareVariants(function.name, llvm::cast<llvm::CallInst>(call), target);
      return call;
    }
    return EmitPolynomial(function, b_, args_, target);
  }

  llvm::Value* CallLibrary(const std::string& name, DataType type) {
    const std::string function = type.bits() == 64 ? name : absl::StrCat(name, "f");
    llvm::Type* element = args_[0]->getType()->getScalarType();
    if (type.is_scalar()) return emitter_.LibcCall(function.c_str(), element, args_);
    llvm::Value* result = llvm::PoisonValue::get(args_[0]->getType());
    for (int lane = 0; lane < type.lanes(); ++lane) {
      std::vector<llvm::Value*> lanes;
      for (llvm::Value* arg : args_) lanes.push_back(b_.CreateExtractElement(arg, static_cast<uint64_t>(lane)));
      llvm::Value* value = emitter_.LibcCall(function.c_str(), element, lanes);
      result = b_.CreateInsertElement(result, value, static_cast<uint64_t>(lane));
    }
    return result;
  }

  FunctionEmitter& emitter_;
  Builder& b_;
  const CallNode* op_;
  std::vector<llvm::Value*> args_;
};

void DefineVariants(llvm::Module& module, const Target& target) {
  DefineVariants(module, [&](llvm::StringRef name, Builder& builder, llvm::ArrayRef<llvm::Value*> args) {
    return EmitPolynomial(*FindPolynomial(std::string_view(name)), builder, args, target);
  });
}

llvm::Value* FunctionEmitter::EmitMath(const CallNode* op) { return MathEmitter(*this, op).Emit(); }

}  // namespace tilewright::codegen
