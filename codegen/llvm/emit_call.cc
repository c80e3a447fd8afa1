// Calls: bit operations, LLVM intrinsics and functions outside of the program. Math functions are in emit_math.cc.
#include "absl/strings/str_cat.h"
#include "codegen/llvm/emitter.h"
#include "ir/builtin.h"
#include "ir/expand_call.h"
#include "llvm/IR/Intrinsics.h"

namespace tilewright::codegen {
namespace {

// The same bits as another LLVM type of the same size, or null when the sizes differ.
llvm::Value* Bitcast(Builder& builder, llvm::Value* value, llvm::Type* type) {
  if (value->getType() == type) return value;
  if (value->getType()->getPrimitiveSizeInBits() != type->getPrimitiveSizeInBits()) return nullptr;
  if (value->getType()->isPointerTy() || type->isPointerTy()) return nullptr;
  return builder.CreateBitCast(value, type);
}

}  // namespace

llvm::Value* FunctionEmitter::EmitCall(const CallNode* op) {
  if (op->op == kIfThenElse) return EmitIfThenElse(op);
  if (op->op == kCallExtern || op->op == kCallPureExtern) return EmitExternCall(op);
  if (op->op == "call_llvm_pure_intrin" || op->op == "call_llvm_intrin") return EmitLlvmIntrinsic(op);
  if (op->op == kDotAdd) return EmitDotAdd(op);
  if (op->op == kLookup) {
    if (llvm::Value* value = EmitLookup(op)) return value;
  }
  if (op->op == "amx_dot_add") return EmitAmxDotAdd(op);
  if (op->op == "amx_zero") return EmitAmxZero(op);
  if (llvm::Value* value = EmitAddressCall(op)) return value;
  if (llvm::Value* value = EmitBitwise(op)) return value;
  if (llvm::Value* value = EmitMath(op)) return value;
  if (const Expr whole = ExpandCall(op)) return Emit(whole);
  return Fail(op->dtype(), absl::StrCat("no code for calls of ", op->op));
}

llvm::Value* FunctionEmitter::EmitBitwise(const CallNode* op) {
  const std::string& name = op->op;
  const DataType type = op->dtype();
  auto arg = [&](size_t i) { return Emit(op->args[i]); };
  if (name == "likely") return arg(0);
  if (name == "bitwise_not") return builder_.CreateNot(arg(0));
  if (name == kFlipSignBit) {
    llvm::Value* value = arg(0);
    const llvm::APInt sign = llvm::APInt::getSignMask(value->getType()->getScalarSizeInBits());
    return builder_.CreateXor(value, llvm::ConstantInt::get(value->getType(), sign));
  }
  if (name == "popcount") return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, arg(0));
  if (name == "clz") {
    llvm::Value* count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, arg(0), builder_.getFalse());
    return builder_.CreateZExtOrTrunc(count, RegisterType(context_.llvm, type));
  }
  if (name == "reinterpret") {
    llvm::Value* bits = ToMemory(builder_, op->args[0].dtype(), arg(0));
    llvm::Value* result = Bitcast(builder_, bits, MemoryType(context_.llvm, type));
    if (result == nullptr)
      return Fail(type, absl::StrCat("reinterpret of ", op->args[0].dtype().ToString(), " as ", type.ToString()));
    return FromMemory(builder_, type, result);
  }
  if (name == "vectorlow" || name == "vectorhigh" || name == "vectorcombine") {
    const int first = name == "vectorhigh" ? type.lanes() : 0;
    llvm::SmallVector<int> picked;
    for (int i = 0; i < type.lanes(); ++i) picked.push_back(first + i);
    if (name == "vectorcombine") {
      llvm::Value* low = arg(0);
      return builder_.CreateShuffleVector(low, arg(1), picked);
    }
    return builder_.CreateShuffleVector(arg(0), picked);
  }
  if (op->args.size() != 2) return nullptr;
  if (name == "bitwise_and" || name == "bitwise_or" || name == "bitwise_xor" || name == "shift_left" ||
      name == "shift_right") {
    llvm::Value* a = arg(0);
    llvm::Value* b = arg(1);
    if (name == "bitwise_and") return builder_.CreateAnd(a, b);
    if (name == "bitwise_or") return builder_.CreateOr(a, b);
    if (name == "bitwise_xor") return builder_.CreateXor(a, b);
    if (name == "shift_left") return builder_.CreateShl(a, b);
    return type.is_int() ? builder_.CreateAShr(a, b) : builder_.CreateLShr(a, b);
  }
  return nullptr;
}

llvm::Value* FunctionEmitter::EmitExternCall(const CallNode* op) {
  const auto* callee = dyn_cast<StringImmNode>(op->args[0]);
  if (callee == nullptr) return Fail(op->dtype(), absl::StrCat(op->op, " without the name of a function"));
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 1; i < op->args.size(); ++i) {
    // Formats that C has no type for travel as their bits.
    const DataType type = op->args[i].dtype();
    llvm::Value* value = Emit(op->args[i]);
    args.push_back(IsNarrowFloat(type) ? ToMemory(builder_, type, value) : value);
    types.push_back(args.back()->getType());
  }
  const DataType type = op->dtype();
  llvm::Type* result = IsNarrowFloat(type) ? MemoryType(context_.llvm, type) : RegisterType(context_.llvm, type);
  llvm::FunctionCallee function =
      context_.module.getOrInsertFunction(callee->value, llvm::FunctionType::get(result, types, false));
  llvm::CallInst* call = builder_.CreateCall(function, args);
  if (op->op == kCallPureExtern) call->setDoesNotAccessMemory();
  return IsNarrowFloat(type) ? FromMemory(builder_, type, call) : call;
}

// Arguments and results are passed as their bits: int8x64 where LLVM wants <16 x i32>, bfloat16x32 as <32 x bfloat>.
llvm::Value* FunctionEmitter::EmitLlvmIntrinsic(const CallNode* op) {
  const DataType type = op->dtype();
  const auto* name = dyn_cast<StringImmNode>(op->args[0]);
  if (name == nullptr) return Fail(type, absl::StrCat(op->op, " without the name of an LLVM intrinsic"));
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name->value);
  if (id == llvm::Intrinsic::not_intrinsic) return Fail(type, absl::StrCat("no LLVM intrinsic ", name->value));
  const bool overloaded = llvm::Intrinsic::isOverloaded(id);
  llvm::FunctionType* signature = overloaded ? nullptr : llvm::Intrinsic::getType(context_.llvm, id);
  size_t first = 1;
  // Older programs give the number of arguments of the signature first.
  const size_t given = op->args.size() - 1;
  if (given > 0 && op->args[1].dtype() == DataType::UInt(32) && isa<IntImmNode>(op->args[1]) &&
      (signature == nullptr || signature->getNumParams() + 1 == given)) {
    first = 2;
  }
  if (signature != nullptr && signature->getNumParams() != op->args.size() - first) {
    return Fail(type, absl::StrCat(name->value, " takes ", signature->getNumParams(), " arguments"));
  }
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = first; i < op->args.size(); ++i) {
    llvm::Value* value = Emit(op->args[i]);
    if (signature != nullptr) {
      llvm::Type* wanted = signature->getParamType(static_cast<unsigned>(i - first));
      if (value->getType() != wanted) value = Bitcast(builder_, ToMemory(builder_, op->args[i].dtype(), value), wanted);
      if (value == nullptr)
        return Fail(type, absl::StrCat("argument ", i - first, " of ", name->value, " has type ",
                                       op->args[i].dtype().ToString()));
    }
    args.push_back(value);
    types.push_back(value->getType());
  }
  if (signature == nullptr) signature = llvm::FunctionType::get(RegisterType(context_.llvm, type), types, false);
  llvm::FunctionCallee function = context_.module.getOrInsertFunction(name->value, signature);
  llvm::Value* result = builder_.CreateCall(function, args);
  if (type.is_void() || result->getType() == RegisterType(context_.llvm, type)) return result;
  result = Bitcast(builder_, result, MemoryType(context_.llvm, type));
  if (result == nullptr)
    return Fail(type, absl::StrCat("the result of ", name->value, " is not of type ", type.ToString()));
  return FromMemory(builder_, type, result);
}

llvm::Value* FunctionEmitter::LibcCall(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  return builder_.CreateCall(context_.module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
                             args);
}

}  // namespace tilewright::codegen
