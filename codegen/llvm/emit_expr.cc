// Expressions: arithmetic, logic, selection.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/llvm/emitter.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "llvm/IR/PatternMatch.h"

namespace tilewright::codegen {
namespace {

// The least or greatest of something and `b`, but `b` where that is a zero, and the one that machines may not give: of
// two zeros they give the second one, or the lesser (greater) one. LLVM makes such instructions of comparisons too.
llvm::Value* SecondOfZeros(llvm::IRBuilderBase& builder, llvm::Value* least_or_greatest, llvm::Value* b, bool is_min) {
  using namespace llvm::PatternMatch;
  if (!(is_min ? match(b, m_PosZeroFP()) : match(b, m_NegZeroFP()))) return least_or_greatest;
  llvm::Value* zero = llvm::ConstantFP::getZero(b->getType());
  return builder.CreateSelect(builder.CreateFCmpOEQ(least_or_greatest, zero), b, least_or_greatest);
}

// Whether evaluating `e` where its guard does not hold could trap or has effects.
bool NeedsGuard(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    if (isa<LoadNode>(sub)) found = true;
    if (const auto* call = dyn_cast<CallNode>(sub)) {
      found |= EffectOf(call->op) != CallEffect::kPure || call->op == kCallPureExtern;
    }
    if (const auto* binary = dyn_cast<BinaryNode>(sub); binary && binary->dtype().is_integer()) {
      const bool divides = binary->op >= BinaryOp::kDiv && binary->op <= BinaryOp::kFloorMod;
      const Expr& divisor = binary->b;
      const auto* broadcast = dyn_cast<BroadcastNode>(divisor);
      const std::optional<int64_t> value = AsInt(broadcast ? broadcast->value : divisor);
      found |= divides && (!value || *value == 0);
    }
    return !found;
  });
  return found;
}

// Whether `e` may be poison where a guard before it does not hold: a shift by too much, a float that no integer holds.
bool MayBePoison(const Expr& e) {
  bool found = false;
  PreOrder(e, [&](const Expr& sub) {
    const auto* call = dyn_cast<CallNode>(sub);
    found |= call != nullptr && (call->op == "shift_left" || call->op == "shift_right") && !AsInt(call->args[1]);
    found |= isa<CastNode>(sub) && sub.dtype().is_integer() && cast<CastNode>(sub)->value.dtype().is_float();
    return !found;
  });
  return found;
}

llvm::CmpInst::Predicate IntegerPredicate(BinaryOp op, bool is_signed) {
  switch (op) {
    case BinaryOp::kEQ:
      return llvm::CmpInst::ICMP_EQ;
    case BinaryOp::kNE:
      return llvm::CmpInst::ICMP_NE;
    case BinaryOp::kLT:
      return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
    case BinaryOp::kLE:
      return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    case BinaryOp::kGT:
      return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
    case BinaryOp::kGE:
      return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
    default:
      TW_UNREACHABLE();
  }
}

llvm::CmpInst::Predicate FloatPredicate(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEQ:
      return llvm::CmpInst::FCMP_OEQ;
    case BinaryOp::kNE:
      return llvm::CmpInst::FCMP_UNE;
    case BinaryOp::kLT:
      return llvm::CmpInst::FCMP_OLT;
    case BinaryOp::kLE:
      return llvm::CmpInst::FCMP_OLE;
    case BinaryOp::kGT:
      return llvm::CmpInst::FCMP_OGT;
    case BinaryOp::kGE:
      return llvm::CmpInst::FCMP_OGE;
    default:
      TW_UNREACHABLE();
  }
}

}  // namespace

llvm::Value* FunctionEmitter::Fail(DataType type, const std::string& message) {
  if (status_.ok()) status_ = absl::UnimplementedError(absl::StrCat("function ", name_, ": ", message));
  llvm::Type* llvm_type = RegisterType(context_.llvm, type);
  return llvm_type->isVoidTy() ? nullptr : llvm::PoisonValue::get(llvm_type);
}

llvm::Value* FunctionEmitter::Compare(llvm::CmpInst::Predicate predicate, llvm::Value* a, llvm::Value* b) {
  return CompareFloats(builder_, predicate, a, b, HasHalves());
}

llvm::Value* FunctionEmitter::Narrowed(DataType type, llvm::Value* value) {
  return IsNarrowFloat(type) ? RoundNarrow(builder_, type, value) : value;
}

llvm::Value* FunctionEmitter::Emit(const Expr& e) {
  const DataType type = e.dtype();
  switch (e->kind()) {
    case Kind::kIntImm:
      return llvm::ConstantInt::get(RegisterType(context_.llvm, type), static_cast<uint64_t>(AsInt(e).value()), true);
    case Kind::kFloatImm:
      return llvm::ConstantFP::get(RegisterType(context_.llvm, type), cast<FloatImmNode>(e)->value);
    case Kind::kStringImm:
      return builder_.CreateGlobalString(cast<StringImmNode>(e)->value);
    case Kind::kVar:
      return EmitVar(cast<VarNode>(e));
    case Kind::kBinary:
      return EmitBinary(cast<BinaryNode>(e));
    case Kind::kNot:
      return builder_.CreateNot(Emit(cast<NotNode>(e)->a));
    case Kind::kSelect: {
      const auto* select = cast<SelectNode>(e);
      llvm::Value* condition = Emit(select->condition);
      llvm::Value* true_value = Emit(select->true_value);
      return builder_.CreateSelect(condition, true_value, Emit(select->false_value));
    }
    case Kind::kCast: {
      const auto* op = cast<CastNode>(e);
      if (llvm::Value* rounded = EmitRounding(op)) return rounded;
      if (llvm::Value* exact = EmitNarrowCast(op)) return exact;
      if (llvm::Value* bytes = EmitWidenedBytes(op)) return bytes;
      return Convert(builder_, op->value.dtype(), type, Emit(op->value));
    }
    case Kind::kLoad:
      return EmitLoad(cast<LoadNode>(e));
    case Kind::kRamp: {
      const auto* ramp = cast<RampNode>(e);
      const auto lanes = static_cast<unsigned>(type.lanes());
      llvm::Value* base = builder_.CreateVectorSplat(lanes, Emit(ramp->base));
      llvm::Value* stride = builder_.CreateVectorSplat(lanes, Emit(ramp->stride));
      llvm::Value* steps = builder_.CreateStepVector(base->getType());
      const bool no_wrap = type.is_int() && type.bits() >= 32;
      return builder_.CreateAdd(base, builder_.CreateMul(steps, stride, "", false, no_wrap), "", false, no_wrap);
    }
    case Kind::kBroadcast: {
      const auto* broadcast = cast<BroadcastNode>(e);
      llvm::Value* value = Emit(broadcast->value);
      const int inner = broadcast->value.dtype().lanes();
      const auto* load = dyn_cast<LoadNode>(broadcast->value);
      const bool element = load != nullptr && load->buffer->scope.kind() == MemoryKind::kRegister &&
                           type.bits() * type.lanes() == context_.target.cpu_part().vector_bits;
      if (inner == 1 && element && value->getType() == MemoryType(context_.llvm, load->dtype())) {
        if (llvm::Value* line = SplatOfLine(load, value->getType())) return line;
      }
      if (inner == 1 && element) return SplatElement(value, static_cast<unsigned>(type.lanes()));
      if (inner == 1) return builder_.CreateVectorSplat(static_cast<unsigned>(type.lanes()), value);
      llvm::SmallVector<int> picked;
      for (int i = 0; i < type.lanes(); ++i) picked.push_back(i % inner);
      return builder_.CreateShuffleVector(value, picked);
    }
    case Kind::kShuffle:
      return EmitShuffle(cast<ShuffleNode>(e), false);
    case Kind::kLet:
      return EmitLet(cast<LetNode>(e));
    case Kind::kCall:
      return EmitCall(cast<CallNode>(e));
    default:
      TW_UNREACHABLE();
  }
}

// Sums and products of 32 bits do not overflow, so they are the same in 64 bits. LLVM would find that out for itself,
// use by use, which takes it longer than all else that it does about loops.
llvm::Value* FunctionEmitter::EmitIndex(const Expr& e) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op != nullptr && e.dtype() == DataType::Int(32)) {
    if (op->op == BinaryOp::kAdd) return builder_.CreateNSWAdd(EmitIndex(op->a), EmitIndex(op->b));
    if (op->op == BinaryOp::kSub) return builder_.CreateNSWSub(EmitIndex(op->a), EmitIndex(op->b));
    if (op->op == BinaryOp::kMul) return builder_.CreateNSWMul(EmitIndex(op->a), EmitIndex(op->b));
  }
  return Convert(builder_, e.dtype(), DataType::Int(64, e.dtype().lanes()), Emit(e));
}

llvm::Value* FunctionEmitter::EmitVar(const VarNode* op) {
  auto it = values_.find(op);
  if (it == values_.end()) return Fail(op->dtype(), absl::StrCat("variable ", op->name, " has no value"));
  return it->second;
}

llvm::Value* FunctionEmitter::EmitBinary(const BinaryNode* op) {
  if (IsLogic(op->op)) return EmitLogic(op);
  const DataType type = op->a.dtype();
  if (llvm::Value* narrow = EmitNarrowBinary(op)) return narrow;
  llvm::Value* a = Emit(op->a);
  if (DividesFastBy(op)) return EmitQuotients(a, Emit(cast<BroadcastNode>(op->b)->value));
  llvm::Value* b = Emit(op->b);
  if (!type.is_float()) return EmitIntegerBinary(op->op, type, a, b, wrapping_.contains(op));
  if (IsComparison(op->op)) return Compare(FloatPredicate(op->op), a, b);
  return Narrowed(type, EmitFloatBinary(op->op, a, b));
}

llvm::Value* FunctionEmitter::EmitIntegerBinary(BinaryOp op, DataType type, llvm::Value* a, llvm::Value* b,
                                                bool wraps) {
  const bool is_signed = type.is_int();
  // Overflow of int32 and int64 is an error of the program; smaller types wrap like unsigned ones.
  const bool narrow = is_signed && type.bits() < 32, no_wrap = is_signed && !narrow && !wraps;
  // The least number divided by -1 wraps too, which no instruction does; in a wider type it does not overflow.
  if (narrow && op >= BinaryOp::kDiv && op <= BinaryOp::kFloorMod) {
    const DataType wide = DataType::Int(32, type.lanes());
    const auto widen = [&](llvm::Value* value) { return Convert(builder_, type, wide, value); };
    return Convert(builder_, wide, type, EmitIntegerBinary(op, wide, widen(a), widen(b)));
  }
  switch (op) {
    case BinaryOp::kAdd:
      return builder_.CreateAdd(a, b, "", false, no_wrap);
    case BinaryOp::kSub:
      return builder_.CreateSub(a, b, "", false, no_wrap);
    case BinaryOp::kMul:
      return builder_.CreateMul(a, b, "", false, no_wrap);
    case BinaryOp::kDiv:
      return is_signed ? builder_.CreateSDiv(a, b) : builder_.CreateUDiv(a, b);
    case BinaryOp::kMod:
      return is_signed ? builder_.CreateSRem(a, b) : builder_.CreateURem(a, b);
    case BinaryOp::kFloorDiv: {
      if (!is_signed) return builder_.CreateUDiv(a, b);
      llvm::Value* quotient = builder_.CreateSDiv(a, b);
      llvm::Value* remainder = builder_.CreateSRem(a, b);
      llvm::Value* opposite =
          builder_.CreateICmpSLT(builder_.CreateXor(remainder, b), llvm::Constant::getNullValue(b->getType()));
      llvm::Value* inexact = builder_.CreateICmpNE(remainder, llvm::Constant::getNullValue(b->getType()));
      return builder_.CreateAdd(quotient, builder_.CreateSExt(builder_.CreateAnd(inexact, opposite), a->getType()));
    }
    case BinaryOp::kFloorMod: {
      if (!is_signed) return builder_.CreateURem(a, b);
      llvm::Value* remainder = builder_.CreateSRem(a, b);
      llvm::Value* opposite =
          builder_.CreateICmpSLT(builder_.CreateXor(remainder, b), llvm::Constant::getNullValue(b->getType()));
      llvm::Value* inexact = builder_.CreateICmpNE(remainder, llvm::Constant::getNullValue(b->getType()));
      llvm::Value* shift =
          builder_.CreateSelect(builder_.CreateAnd(inexact, opposite), b, llvm::Constant::getNullValue(b->getType()));
      return builder_.CreateAdd(remainder, shift);
    }
    case BinaryOp::kMin:
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case BinaryOp::kMax:
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    default:
      return builder_.CreateICmp(IntegerPredicate(op, is_signed), a, b);
  }
}

llvm::Value* FunctionEmitter::EmitFloatBinary(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case BinaryOp::kAdd:
      return builder_.CreateFAdd(a, b);
    case BinaryOp::kSub:
      return builder_.CreateFSub(a, b);
    case BinaryOp::kMul:
      return builder_.CreateFMul(a, b);
    case BinaryOp::kDiv:
      return builder_.CreateFDiv(a, b);
    case BinaryOp::kMod:
      return builder_.CreateFRem(a, b);
    case BinaryOp::kFloorDiv:
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, builder_.CreateFDiv(a, b));
    case BinaryOp::kFloorMod: {
      llvm::Value* quotient = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, builder_.CreateFDiv(a, b));
      return builder_.CreateFSub(a, builder_.CreateFMul(quotient, b));
    }
    // The second operand where the comparison fails, so also where one of the two is a NaN: what minps and maxps do.
    case BinaryOp::kMin: {
      llvm::Value* least = builder_.CreateSelect(Compare(llvm::CmpInst::FCMP_OLT, a, b), a, b);
      return SecondOfZeros(builder_, least, b, true);
    }
    case BinaryOp::kMax: {
      llvm::Value* greatest = builder_.CreateSelect(Compare(llvm::CmpInst::FCMP_OGT, a, b), a, b);
      return SecondOfZeros(builder_, greatest, b, false);
    }
    default:
      TW_UNREACHABLE();
  }
}

// `a && b` evaluates b only where a decides nothing, if b could trap.
llvm::Value* FunctionEmitter::EmitLogic(const BinaryNode* op) {
  const bool is_and = op->op == BinaryOp::kAnd;
  llvm::Value* a = Emit(op->a);
  const bool needs_guard = NeedsGuard(op->b);
  if (op->dtype().lanes() > 1 || !needs_guard) {
    llvm::Value* b = Emit(op->b);
    // What the first operand decides holds anything in the second.
    if (needs_guard || MayBePoison(op->b)) {
      return is_and ? builder_.CreateLogicalAnd(a, b) : builder_.CreateLogicalOr(a, b);
    }
    return is_and ? builder_.CreateAnd(a, b) : builder_.CreateOr(a, b);
  }
  llvm::BasicBlock* start = builder_.GetInsertBlock();
  llvm::BasicBlock* other = NewBlock("logic");
  llvm::BasicBlock* done = NewBlock("logic.done");
  builder_.CreateCondBr(a, is_and ? other : done, is_and ? done : other);
  builder_.SetInsertPoint(other);
  llvm::Value* b = Emit(op->b);
  llvm::BasicBlock* end = builder_.GetInsertBlock();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* phi = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  phi->addIncoming(builder_.getInt1(!is_and), start);
  phi->addIncoming(b, end);
  return phi;
}

llvm::Value* FunctionEmitter::EmitRounding(const CastNode* op) {
  if (op->value.dtype().element() != DataType::Float(32)) return nullptr;
  return MultipliesByElements() ? EmitSaturated(op) : EmitRoundingOfX86(op);
}

llvm::Value* FunctionEmitter::EmitShuffle(const ShuffleNode* op, bool bits) {
  const auto emit = [&](const Expr& e) { return bits ? EmitBits(e) : Emit(e); };
  if (op->vectors.size() == 2 && op->vectors[0].dtype() == op->vectors[1].dtype() && op->dtype().lanes() > 1 &&
      op->vectors[0].dtype().lanes() > 1) {
    llvm::Value* low = emit(op->vectors[0]);
    llvm::Value* high = emit(op->vectors[1]);
    if (llvm::Value* window = EmitWindow(low, high, op->indices)) return window;
    return builder_.CreateShuffleVector(low, high, op->indices);
  }
  llvm::Type* type = bits ? MemoryType(context_.llvm, op->dtype()) : RegisterType(context_.llvm, op->dtype());
  llvm::Value* all = llvm::PoisonValue::get(type);
  // Lane by lane; LLVM makes shuffles of it.
  std::vector<std::pair<llvm::Value*, int>> lanes;
  for (const Expr& part : op->vectors) {
    llvm::Value* value = emit(part);
    for (int lane = 0; lane < part.dtype().lanes(); ++lane) {
      lanes.emplace_back(value, part.dtype().lanes() == 1 ? -1 : lane);
    }
  }
  for (size_t i = 0; i < op->indices.size(); ++i) {
    const auto& [value, lane] = lanes.at(static_cast<size_t>(op->indices[i]));
    llvm::Value* element = lane < 0 ? value : builder_.CreateExtractElement(value, static_cast<uint64_t>(lane));
    if (op->indices.size() == 1) return element;
    all = builder_.CreateInsertElement(all, element, i);
  }
  return all;
}

llvm::Value* FunctionEmitter::EmitLet(const LetNode* op) {
  values_[op->var.get()] = Emit(op->value);
  llvm::Value* body = Emit(op->body);
  values_.erase(op->var.get());
  return body;
}

llvm::Value* FunctionEmitter::EmitIfThenElse(const CallNode* op) {
  const Expr &condition = op->args[0], &true_value = op->args[1], &false_value = op->args[2];
  llvm::Value* chosen = Emit(condition);
  // A vector condition: loads are masked by the vectorizer, so both sides can be evaluated.
  if (condition.dtype().lanes() > 1 || (!NeedsGuard(true_value) && !NeedsGuard(false_value))) {
    llvm::Value* a = Emit(true_value);
    return builder_.CreateSelect(chosen, a, Emit(false_value));
  }
  llvm::BasicBlock* then_block = NewBlock("then");
  llvm::BasicBlock* else_block = NewBlock("else");
  llvm::BasicBlock* done = NewBlock("endif");
  builder_.CreateCondBr(chosen, then_block, else_block);
  builder_.SetInsertPoint(then_block);
  llvm::Value* a = Emit(true_value);
  then_block = builder_.GetInsertBlock();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(else_block);
  llvm::Value* b = Emit(false_value);
  else_block = builder_.GetInsertBlock();
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* phi = builder_.CreatePHI(a->getType(), 2);
  phi->addIncoming(a, then_block);
  phi->addIncoming(b, else_block);
  return phi;
}

}  // namespace tilewright::codegen
