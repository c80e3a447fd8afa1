// dot_add: by one instruction where the target has one for the types, else by multiplications of every V-th lane.
#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/emitter.h"
#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "llvm/IR/InlineAsm.h"

namespace tilewright::codegen {
namespace {

// The instruction for vectors of these types, or null. `narrow`: B's bytes are below 128.
const MachineInstruction* DotInstruction(const Target& target, DataType a, DataType b, DataType result, bool narrow) {
  const int terms = a.lanes() / result.lanes();
  for (const MachineInstruction& row : Instructions()) {
    const bool dot = row.family == (narrow ? "narrow_dot" : "dot") || (!narrow && row.family == "mmla");
    if (dot && !row.llvm.empty() && row.a.type == a.element() && row.b.type == b.element() &&
        row.c.type == result.element() && row.m * row.n == result.lanes() && row.k == terms && Executes(target, row)) {
      return &row;
    }
  }
  return nullptr;
}

// An operand of a product of two rows by two columns without its repetitions: `group` lanes for each of four products,
// of two rows that are there twice in turn, or (`columns`) of a pair of columns that is there twice. Null for others.
Expr WithoutRepetition(const Expr& e, int group, bool columns) {
  const auto* shuffle = dyn_cast<ShuffleNode>(e);
  if (shuffle == nullptr) return {};
  const auto lanes = [&](int product) {
    return std::span(shuffle->indices).subspan(static_cast<size_t>(product * group), static_cast<size_t>(group));
  };
  const int second = columns ? 1 : 2, repeated = 3 - second;
  if (!std::ranges::equal(lanes(0), lanes(repeated)) || !std::ranges::equal(lanes(second), lanes(3))) return {};
  std::vector<int> kept(lanes(0).begin(), lanes(0).end());
  kept.insert(kept.end(), lanes(second).begin(), lanes(second).end());
  return Expr(new ShuffleNode(shuffle->vectors, std::move(kept)));
}

// A group of elements, 32 bits in all: those of `value` or zeros, with the bits of `flip` flipped. What is kept is
// chosen before bits are flipped, or (`flips_kept`) only what is kept is flipped.
struct Group {
  Expr value;
  Expr kept_lanes;  // null: all of them
  uint32_t flip = 0;
  bool flips_kept = false;
};

// What is chosen where a condition holds, with zeros elsewhere; null when `e` is no such thing.
const SelectNode* OrZeros(const Expr& e) {
  const auto* select = dyn_cast<SelectNode>(e);
  const auto* zero = select == nullptr ? nullptr : dyn_cast<BroadcastNode>(select->false_value);
  if (zero == nullptr) return nullptr;
  const auto* number = dyn_cast<FloatImmNode>(zero->value);
  return (number != nullptr ? number->value == 0 : IsInt(zero->value, 0)) ? select : nullptr;
}

// The bytes whose sign bits are flipped in `e`; null when `e` is not such a call.
const CallNode* FlippedBytes(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  return call != nullptr && call->op == kFlipSignBit && e.dtype().bits() == 8 ? call : nullptr;
}

Group GroupOf(const Expr& e) {
  Group group{.value = e};
  const auto keep = [&] {
    if (const SelectNode* select = OrZeros(group.value)) {
      group.kept_lanes = select->condition;
      group.value = select->true_value;
    }
  };
  keep();
  if (const CallNode* flipped = FlippedBytes(group.value)) {
    group.flip = 0x80808080u;
    group.flips_kept = static_cast<bool>(group.kept_lanes);
    group.value = flipped->args[0];
    const auto* same_bits = dyn_cast<CallNode>(group.value);
    if (!group.flips_kept && same_bits != nullptr && same_bits->op == "reinterpret" && OrZeros(same_bits->args[0])) {
      group.value = same_bits->args[0];
      keep();
    }
  }
  return group;
}

// Whether a mask leaves bytes below 128.
bool IsBelow128(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  const auto* mask = call == nullptr ? nullptr : dyn_cast<BroadcastNode>(call->args.back());
  if (call == nullptr || call->op != "bitwise_and" || mask == nullptr) return false;
  const std::optional<int64_t> most = AsInt(mask->value);
  return most && *most >= 0 && *most < 128;
}

// The bits of lanes that are kept; nothing when that is not known before the program runs.
std::optional<uint32_t> KeptBits(llvm::Value* condition, DataType type) {
  auto* lanes = llvm::dyn_cast<llvm::Constant>(condition);
  if (lanes == nullptr || !lanes->getType()->isVectorTy()) return std::nullopt;
  uint32_t kept = 0;
  for (int lane = 0; lane < type.lanes(); ++lane) {
    llvm::Constant* holds = lanes->getAggregateElement(static_cast<unsigned>(lane));
    if (holds == nullptr || !llvm::isa<llvm::ConstantInt>(holds)) return std::nullopt;
    if (holds->isOneValue()) kept |= ((1u << type.bits()) - 1) << (lane * type.bits());
  }
  return kept;
}

}  // namespace

// A constant that LLVM does not see through, in a vector register.
llvm::Value* FunctionEmitter::OpaqueConstant(llvm::Constant* constant) {
  llvm::Value*& value = opaque_constants_[constant];
  if (value == nullptr) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
    auto* type = llvm::FunctionType::get(constant->getType(), {constant->getType()}, false);
    value = at_entry.CreateCall(llvm::InlineAsm::get(type, "", SameVectorRegister(), false), {constant});
  }
  return value;
}

// Values of narrow types need not be converted to what they are computed with only to be converted back.
llvm::Value* FunctionEmitter::EmitBits(const Expr& e) {
  if (const auto* load = dyn_cast<LoadNode>(e)) return EmitLoadedBits(load);
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    llvm::Value* condition = Emit(select->condition);
    llvm::Value* true_value = EmitBits(select->true_value);
    return builder_.CreateSelect(condition, true_value, EmitBits(select->false_value));
  }
  if (const auto* shuffle = dyn_cast<ShuffleNode>(e)) return EmitShuffle(shuffle, true);
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  const DataType inner = broadcast != nullptr ? broadcast->value.dtype() : DataType();
  const int bits = inner.bits() * inner.lanes();
  if (broadcast != nullptr && !inner.is_scalar() && (bits == 16 || bits == 32 || bits == 64)) {
    // A group of neighbours as one number: LLVM makes broadcasts of such.
    // Constants have a register each where there are many.
    const CpuTarget& cpu = context_.target.cpu_part();
    const bool wide = e.dtype().bits() * e.dtype().lanes() == cpu.vector_bits && cpu.vector_registers >= 32;
    Group group{.value = broadcast->value};
    if (wide && bits == 32) group = GroupOf(broadcast->value);
    uint32_t keep = ~uint32_t{0};
    if (group.kept_lanes) {
      const std::optional<uint32_t> kept = KeptBits(Emit(group.kept_lanes), group.value.dtype());
      if (kept) {
        keep = *kept;
      } else {
        group = {.value = broadcast->value};
      }
    }
    const auto* same_bits = dyn_cast<CallNode>(group.value);
    const bool reinterpreted = same_bits != nullptr && same_bits->op == "reinterpret";
    const auto* load = dyn_cast<LoadNode>(reinterpreted ? same_bits->args[0] : group.value);
    if (load != nullptr && wide && keep == ~uint32_t{0}) {
      llvm::Value* line = SplatOfLine(load, builder_.getIntNTy(static_cast<unsigned>(bits)), group.flip);
      if (line != nullptr) return builder_.CreateBitCast(line, MemoryType(context_.llvm, e.dtype()));
    }
    llvm::Value* value = EmitBits(group.value);
    llvm::Value* number = builder_.CreateBitCast(value, builder_.getIntNTy(static_cast<unsigned>(bits)));
    const auto count = static_cast<unsigned>(e.dtype().lanes() / inner.lanes());
    if (wide && bits == 32 && MultipliesByElements()) {
      // Bits are kept and flipped by the units of whole numbers, not by those that multiply.
      if (group.flips_kept) group.flip &= keep;
      if (keep != ~uint32_t{0}) number = builder_.CreateAnd(number, keep);
      if (group.flip != 0) number = builder_.CreateXor(number, group.flip);
      return builder_.CreateBitCast(SplatElement(number, count), MemoryType(context_.llvm, e.dtype()));
    }
    llvm::Value* all = builder_.CreateVectorSplat(count, number);
    // One instruction loads, broadcasts, and keeps or flips bits. LLVM would do that before it broadcasts, which takes
    // three.
    const auto constant = [&](uint32_t bits_of_group) {
      return OpaqueConstant(llvm::ConstantInt::get(all->getType(), bits_of_group));
    };
    if (group.flips_kept) group.flip &= keep;
    if (keep != ~uint32_t{0}) all = builder_.CreateAnd(all, constant(keep));
    if (group.flip != 0) all = builder_.CreateXor(all, constant(group.flip));
    return builder_.CreateBitCast(all, MemoryType(context_.llvm, e.dtype()));
  }
  return ToMemory(builder_, e.dtype(), Emit(e));
}

// A call of the LLVM intrinsic of a row without an operand for the sum.
llvm::Value* FunctionEmitter::CallOfTwo(const MachineInstruction& instruction, llvm::Value* first,
                                        llvm::Value* second) {
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(instruction.llvm);
  llvm::Function* function = llvm::Intrinsic::getDeclaration(&context_.module, id);
  llvm::FunctionType* signature = function->getFunctionType();
  return builder_.CreateCall(function, {builder_.CreateBitCast(first, signature->getParamType(0)),
                                        builder_.CreateBitCast(second, signature->getParamType(1))});
}

// Sums of the products of groups of four bytes. `rows` and `columns` are their bits.
llvm::Value* FunctionEmitter::EmitDotByParts(const MachineInstruction& instruction, llvm::Value* rows,
                                             llvm::Value* columns) {
  const auto words = static_cast<unsigned>(instruction.n * instruction.k / 2);
  llvm::Type* type = llvm::FixedVectorType::get(builder_.getInt16Ty(), words);
  const auto splat = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
  if (instruction.identity == InstructionIdentity::kAddsPairs) {
    const DataType word = DataType::Int(16);
    const MachineInstruction* add = FindInstruction(context_.target, "dot", word, word, instruction.c.type);
    return CallOfTwo(*add, CallOfTwo(instruction, columns, rows), splat(1));
  }
  llvm::Value *a = builder_.CreateBitCast(rows, type), *b = builder_.CreateBitCast(columns, type);
  const bool a_signed = instruction.a.type.is_int(), b_signed = instruction.b.type.is_int();
  const auto even = [&](llvm::Value* v, bool is_signed) {
    return is_signed ? builder_.CreateAShr(builder_.CreateShl(v, splat(8)), splat(8))
                     : builder_.CreateAnd(v, splat(255));
  };
  const auto odd = [&](llvm::Value* v, bool is_signed) {
    return is_signed ? builder_.CreateAShr(v, splat(8)) : builder_.CreateLShr(v, splat(8));
  };
  llvm::Value* of_even = CallOfTwo(instruction, even(a, a_signed), even(b, b_signed));
  return builder_.CreateAdd(of_even, CallOfTwo(instruction, odd(a, a_signed), odd(b, b_signed)));
}

llvm::Value* FunctionEmitter::EmitDotInstruction(const MachineInstruction& instruction, llvm::Value* sum, const Expr& a,
                                                 const Expr& b) {
  if (instruction.ByParts()) {
    llvm::Value* rows = EmitBits(a);
    return builder_.CreateAdd(sum, EmitDotByParts(instruction, rows, EmitBits(b)));
  }
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(instruction.llvm);
  llvm::Value* factors[2] = {EmitBits(a), EmitBits(b)};
  // The second factor is the one of which it can be an element.
  const bool commutes = instruction.m == 1 && instruction.a.type == instruction.b.type;
  if (instruction.b_first || (MultipliesByElements() && commutes)) std::swap(factors[0], factors[1]);
  // Families of instructions of several widths are declared by their types.
  llvm::SmallVector<llvm::Type*, 2> types;
  if (llvm::Intrinsic::isOverloaded(id)) {
    llvm::Type* factor = a.dtype().code() == TypeCode::kBFloat
                             ? builder_.getBFloatTy()
                             : builder_.getIntNTy(static_cast<unsigned>(a.dtype().bits()));
    types = {sum->getType(), llvm::FixedVectorType::get(factor, static_cast<unsigned>(a.dtype().lanes()))};
  }
  llvm::Function* function = llvm::Intrinsic::getDeclaration(&context_.module, id, types);
  llvm::FunctionType* signature = function->getFunctionType();
  // Instructions without an operand for the sum: it is added afterwards.
  const unsigned first = signature->getNumParams() == 2 ? 0 : 1;
  for (unsigned i = 0; i < 2; ++i) factors[i] = builder_.CreateBitCast(factors[i], signature->getParamType(i + first));
  if (first == 0) return builder_.CreateAdd(sum, builder_.CreateCall(function, {factors[0], factors[1]}));
  return builder_.CreateCall(function, {sum, factors[0], factors[1]});
}

llvm::Value* FunctionEmitter::EmitDotAdd(const CallNode* op) {
  const Expr &sum = op->args[0], &a = op->args[1], &b = op->args[2];
  const DataType type = op->dtype();
  const int lanes = type.lanes();
  if (sum.dtype() != type || a.dtype().lanes() != b.dtype().lanes() || a.dtype().lanes() % lanes != 0) {
    return Fail(type, absl::StrCat("dot_add of ", sum.dtype().ToString(), ", ", a.dtype().ToString(), " and ",
                                   b.dtype().ToString()));
  }
  llvm::Value* result = Emit(sum);
  const MachineInstruction* instruction = nullptr;
  if (IsBelow128(b)) instruction = DotInstruction(context_.target, a.dtype(), b.dtype(), type, true);
  if (instruction == nullptr) instruction = DotInstruction(context_.target, a.dtype(), b.dtype(), type, false);
  if (instruction != nullptr && instruction->m == 2) {
    const Expr rows = WithoutRepetition(a, instruction->k, false), columns = WithoutRepetition(b, instruction->k, true);
    if (rows && columns) return EmitDotInstruction(*instruction, result, rows, columns);
    instruction = nullptr;
  }
  if (instruction != nullptr) return EmitDotInstruction(*instruction, result, a, b);
  const int terms = a.dtype().lanes() / lanes;
  llvm::Value* all_a = Convert(builder_, a.dtype(), type.with_lanes(a.dtype().lanes()), Emit(a));
  llvm::Value* all_b = Convert(builder_, b.dtype(), type.with_lanes(b.dtype().lanes()), Emit(b));
  for (int term = 0; term < terms; ++term) {
    auto every = [&](llvm::Value* value) -> llvm::Value* {
      if (terms == 1) return value;
      if (lanes == 1) return builder_.CreateExtractElement(value, static_cast<uint64_t>(term));
      llvm::SmallVector<int> picked;
      for (int lane = 0; lane < lanes; ++lane) picked.push_back(lane * terms + term);
      return builder_.CreateShuffleVector(value, picked);
    };
    llvm::Value *x = every(all_a), *y = every(all_b);
    if (type.is_float()) {
      result = Narrowed(type, builder_.CreateFAdd(result, Narrowed(type, builder_.CreateFMul(x, y))));
    } else {
      result = builder_.CreateAdd(result, builder_.CreateMul(x, y));
    }
  }
  return result;
}

}  // namespace tilewright::codegen
