#include "codegen/llvm/known_instructions.h"

#include <optional>

#include "llvm/ADT/Hashing.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

namespace tilewright::codegen {
namespace {

using Key = KnownInstructions::Key;

// What belongs to an opcode, beside it.
unsigned With(unsigned opcode, unsigned more) { return opcode | more << 8; }

Key KeyOfCompare(unsigned opcode, unsigned predicate, llvm::Value* a, llvm::Value* b) {
  return {With(opcode, predicate), a->getType(), a, b, nullptr};
}
Key KeyOfOperands(unsigned opcode, llvm::Value* a, llvm::Value* b, llvm::Value* c = nullptr) {
  return {opcode, a->getType(), a, b, c};
}
Key KeyOfAddress(llvm::Type* element, llvm::Value* pointer, llvm::Value* index) {
  return {llvm::Instruction::GetElementPtr, element, pointer, index, nullptr};
}
Key KeyOfShuffle(llvm::Value* a, llvm::Value* b, llvm::ArrayRef<int> mask) {
  const auto hash = static_cast<unsigned>(llvm::hash_combine_range(mask.begin(), mask.end()));
  return KeyOfOperands(With(llvm::Instruction::ShuffleVector, hash), a, b);
}
Key KeyOfCast(unsigned opcode, llvm::Value* value, llvm::Type* type) { return {opcode, type, value, nullptr, nullptr}; }

// Nothing for instructions that are not reused.
std::optional<Key> KeyOf(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::FPMathOperator>(instruction)) return std::nullopt;
  const unsigned opcode = instruction.getOpcode();
  const auto operand = [&](unsigned i) { return instruction.getOperand(i); };
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
    return KeyOfCompare(opcode, compare->getPredicate(), operand(0), operand(1));
  }
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    if (address->getNumIndices() != 1) return std::nullopt;
    return KeyOfAddress(address->getSourceElementType(), operand(0), operand(1));
  }
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
    return KeyOfShuffle(operand(0), operand(1), shuffle->getShuffleMask());
  }
  if (instruction.isCast()) return KeyOfCast(opcode, operand(0), instruction.getType());
  if (instruction.isBinaryOp() || llvm::isa<llvm::ExtractElementInst>(instruction)) {
    return KeyOfOperands(opcode, operand(0), operand(1));
  }
  if (llvm::isa<llvm::InsertElementInst>(instruction) || llvm::isa<llvm::SelectInst>(instruction)) {
    return KeyOfOperands(opcode, operand(0), operand(1), operand(2));
  }
  return std::nullopt;
}

// The instruction, where it has no flags that say more than the one that is asked for.
llvm::Value* WithoutFlags(llvm::Instruction* known) {
  return known != nullptr && !known->hasPoisonGeneratingFlags() ? known : nullptr;
}

}  // namespace

llvm::Instruction* KnownInstructions::Find(const Key& key) const {
  llvm::BasicBlock* const block = builder_->GetInsertBlock();
  if (block == nullptr || block != block_ || builder_->GetInsertPoint() != block->end()) return nullptr;
  return known_.lookup(key);
}

void KnownInstructions::Note(llvm::Instruction* instruction, bool at_end) {
  if (instruction->getParent() != block_) {
    block_ = instruction->getParent();
    known_.clear();
  }
  if (!at_end) return;
  if (const std::optional<Key> key = KeyOf(*instruction)) known_[*key] = instruction;
}

void KnownInserter::InsertHelper(llvm::Instruction* instruction, const llvm::Twine& name,
                                 llvm::BasicBlock::iterator before) const {
  IRBuilderDefaultInserter::InsertHelper(instruction, name, before);
  const llvm::BasicBlock* const block = instruction->getParent();
  if (block != nullptr) known_->Note(instruction, &block->back() == instruction);
}

llvm::Value* KnownFolder::FoldBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b) const {
  if (llvm::Value* folded = constants_.FoldBinOp(op, a, b)) return folded;
  return WithoutFlags(known_->Find(KeyOfOperands(op, a, b)));
}

llvm::Value* KnownFolder::FoldExactBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b,
                                         bool exact) const {
  if (llvm::Value* folded = constants_.FoldExactBinOp(op, a, b, exact)) return folded;
  llvm::Instruction* const known = known_->Find(KeyOfOperands(op, a, b));
  return known != nullptr && known->isExact() == exact ? known : nullptr;
}

llvm::Value* KnownFolder::FoldNoWrapBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b,
                                          bool no_unsigned_wrap, bool no_signed_wrap) const {
  if (llvm::Value* folded = constants_.FoldNoWrapBinOp(op, a, b, no_unsigned_wrap, no_signed_wrap)) return folded;
  llvm::Instruction* const known = known_->Find(KeyOfOperands(op, a, b));
  const bool same =
      known != nullptr && known->hasNoUnsignedWrap() == no_unsigned_wrap && known->hasNoSignedWrap() == no_signed_wrap;
  return same ? known : nullptr;
}

llvm::Value* KnownFolder::FoldBinOpFMF(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b,
                                       llvm::FastMathFlags flags) const {
  return constants_.FoldBinOpFMF(op, a, b, flags);
}

llvm::Value* KnownFolder::FoldUnOpFMF(llvm::Instruction::UnaryOps op, llvm::Value* a, llvm::FastMathFlags flags) const {
  return constants_.FoldUnOpFMF(op, a, flags);
}

llvm::Value* KnownFolder::FoldCmp(llvm::CmpInst::Predicate predicate, llvm::Value* a, llvm::Value* b) const {
  if (llvm::Value* folded = constants_.FoldCmp(predicate, a, b)) return folded;
  return WithoutFlags(known_->Find(KeyOfCompare(llvm::Instruction::ICmp, predicate, a, b)));
}

llvm::Value* KnownFolder::FoldGEP(llvm::Type* type, llvm::Value* pointer, llvm::ArrayRef<llvm::Value*> indices,
                                  llvm::GEPNoWrapFlags flags) const {
  if (llvm::Value* folded = constants_.FoldGEP(type, pointer, indices, flags)) return folded;
  if (indices.size() != 1) return nullptr;
  llvm::Instruction* const known = known_->Find(KeyOfAddress(type, pointer, indices[0]));
  return known != nullptr && llvm::cast<llvm::GetElementPtrInst>(known)->getNoWrapFlags() == flags ? known : nullptr;
}

llvm::Value* KnownFolder::FoldSelect(llvm::Value* condition, llvm::Value* a, llvm::Value* b) const {
  if (llvm::Value* folded = constants_.FoldSelect(condition, a, b)) return folded;
  return WithoutFlags(known_->Find(KeyOfOperands(llvm::Instruction::Select, condition, a, b)));
}

llvm::Value* KnownFolder::FoldExtractValue(llvm::Value* aggregate, llvm::ArrayRef<unsigned> indices) const {
  return constants_.FoldExtractValue(aggregate, indices);
}

llvm::Value* KnownFolder::FoldInsertValue(llvm::Value* aggregate, llvm::Value* value,
                                          llvm::ArrayRef<unsigned> indices) const {
  return constants_.FoldInsertValue(aggregate, value, indices);
}

llvm::Value* KnownFolder::FoldExtractElement(llvm::Value* vector, llvm::Value* index) const {
  if (llvm::Value* folded = constants_.FoldExtractElement(vector, index)) return folded;
  return known_->Find(KeyOfOperands(llvm::Instruction::ExtractElement, vector, index));
}

llvm::Value* KnownFolder::FoldInsertElement(llvm::Value* vector, llvm::Value* element, llvm::Value* index) const {
  if (llvm::Value* folded = constants_.FoldInsertElement(vector, element, index)) return folded;
  return known_->Find(KeyOfOperands(llvm::Instruction::InsertElement, vector, element, index));
}

llvm::Value* KnownFolder::FoldShuffleVector(llvm::Value* a, llvm::Value* b, llvm::ArrayRef<int> mask) const {
  if (llvm::Value* folded = constants_.FoldShuffleVector(a, b, mask)) return folded;
  llvm::Instruction* const known = known_->Find(KeyOfShuffle(a, b, mask));
  return known != nullptr && llvm::cast<llvm::ShuffleVectorInst>(known)->getShuffleMask() == mask ? known : nullptr;
}

llvm::Value* KnownFolder::FoldCast(llvm::Instruction::CastOps op, llvm::Value* value, llvm::Type* type) const {
  if (llvm::Value* folded = constants_.FoldCast(op, value, type)) return folded;
  return WithoutFlags(known_->Find(KeyOfCast(op, value, type)));
}

llvm::Value* KnownFolder::FoldBinaryIntrinsic(llvm::Intrinsic::ID id, llvm::Value* a, llvm::Value* b, llvm::Type* type,
                                              llvm::Instruction* flags) const {
  return constants_.FoldBinaryIntrinsic(id, a, b, type, flags);
}

llvm::Value* KnownFolder::CreatePointerCast(llvm::Constant* constant, llvm::Type* type) const {
  return constants_.CreatePointerCast(constant, type);
}

llvm::Value* KnownFolder::CreatePointerBitCastOrAddrSpaceCast(llvm::Constant* constant, llvm::Type* type) const {
  return constants_.CreatePointerBitCastOrAddrSpaceCast(constant, type);
}

}  // namespace tilewright::codegen
