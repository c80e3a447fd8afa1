// An IR builder that does not write an instruction again which its block has.
//
//   Builder b(block);
//   llvm::Value* sum = b.CreateNSWAdd(i, j);
//   b.CreateNSWAdd(i, j);                      // sum
//
// Each statement of an unrolled loop computes its addresses anew; LLVM would find the copies and delete them, which
// takes longer than to write them once. Instructions of integers, addresses and lanes with the same flags are reused,
// as long as the builder writes at the end of their block.
#pragma once

#include <tuple>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/ConstantFolder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IRBuilderFolder.h"
#include "llvm/IR/Instruction.h"

namespace tilewright::codegen {

// Those of one block: the one that its builder writes to.
class KnownInstructions {
 public:
  // What an instruction computes, apart from its flags: its opcode with what belongs to it, a type and its operands.
  using Key = std::tuple<unsigned, llvm::Type*, llvm::Value*, llvm::Value*, llvm::Value*>;

  // The instruction of that key at the place where the builder writes, or null.
  llvm::Instruction* Find(const Key& key) const;
  // An instruction that the builder has written; `at_end`: behind all others of its block.
  void Note(llvm::Instruction* instruction, bool at_end);
  void set_builder(const llvm::IRBuilderBase* builder) { builder_ = builder; }

 private:
  const llvm::IRBuilderBase* builder_ = nullptr;
  const llvm::BasicBlock* block_ = nullptr;
  llvm::DenseMap<Key, llvm::Instruction*> known_;
};

// Folds constants, as builders do, and gives instructions that are known.
class KnownFolder final : public llvm::IRBuilderFolder {
 public:
  explicit KnownFolder(const KnownInstructions* known) : known_(known) {}

  llvm::Value* FoldBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b) const override;
  llvm::Value* FoldExactBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b,
                              bool exact) const override;
  llvm::Value* FoldNoWrapBinOp(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b, bool no_unsigned_wrap,
                               bool no_signed_wrap) const override;
  llvm::Value* FoldBinOpFMF(llvm::Instruction::BinaryOps op, llvm::Value* a, llvm::Value* b,
                            llvm::FastMathFlags flags) const override;
  llvm::Value* FoldUnOpFMF(llvm::Instruction::UnaryOps op, llvm::Value* a, llvm::FastMathFlags flags) const override;
  llvm::Value* FoldCmp(llvm::CmpInst::Predicate predicate, llvm::Value* a, llvm::Value* b) const override;
  llvm::Value* FoldGEP(llvm::Type* type, llvm::Value* pointer, llvm::ArrayRef<llvm::Value*> indices,
                       llvm::GEPNoWrapFlags flags) const override;
  llvm::Value* FoldSelect(llvm::Value* condition, llvm::Value* a, llvm::Value* b) const override;
  llvm::Value* FoldExtractValue(llvm::Value* aggregate, llvm::ArrayRef<unsigned> indices) const override;
  llvm::Value* FoldInsertValue(llvm::Value* aggregate, llvm::Value* value,
                               llvm::ArrayRef<unsigned> indices) const override;
  llvm::Value* FoldExtractElement(llvm::Value* vector, llvm::Value* index) const override;
  llvm::Value* FoldInsertElement(llvm::Value* vector, llvm::Value* element, llvm::Value* index) const override;
  llvm::Value* FoldShuffleVector(llvm::Value* a, llvm::Value* b, llvm::ArrayRef<int> mask) const override;
  llvm::Value* FoldCast(llvm::Instruction::CastOps op, llvm::Value* value, llvm::Type* type) const override;
  llvm::Value* FoldBinaryIntrinsic(llvm::Intrinsic::ID id, llvm::Value* a, llvm::Value* b, llvm::Type* type,
                                   llvm::Instruction* flags) const override;
  llvm::Value* CreatePointerCast(llvm::Constant* constant, llvm::Type* type) const override;
  llvm::Value* CreatePointerBitCastOrAddrSpaceCast(llvm::Constant* constant, llvm::Type* type) const override;

 private:
  const llvm::ConstantFolder constants_;
  const KnownInstructions* known_;
};

class KnownInserter final : public llvm::IRBuilderDefaultInserter {
 public:
  explicit KnownInserter(KnownInstructions* known) : known_(known) {}
  void InsertHelper(llvm::Instruction* instruction, const llvm::Twine& name,
                    llvm::BasicBlock::iterator before) const override;

 private:
  KnownInstructions* known_;
};

class Builder : private KnownInstructions, public llvm::IRBuilder<KnownFolder, KnownInserter> {
 public:
  explicit Builder(llvm::LLVMContext& context) : IRBuilder(context, KnownFolder(this), KnownInserter(this)) {
    set_builder(this);
  }
  explicit Builder(llvm::BasicBlock* block) : Builder(block->getContext()) { SetInsertPoint(block); }
  Builder(llvm::BasicBlock* block, llvm::BasicBlock::iterator before) : Builder(block->getContext()) {
    SetInsertPoint(block, before);
  }
};

}  // namespace tilewright::codegen
