#include "codegen/llvm/known_instructions.h"

#include <gtest/gtest.h>

#include <memory>

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace tilewright::codegen {
namespace {

// A function of two integers, a vector and a pointer, with an empty block.
class Known : public testing::Test {
 protected:
  llvm::BasicBlock* NewBlock() { return llvm::BasicBlock::Create(context_, "block", function_); }

  llvm::LLVMContext context_;
  llvm::Module module_{"module", context_};
  llvm::Type* number_ = llvm::Type::getInt64Ty(context_);
  llvm::Type* float_ = llvm::Type::getFloatTy(context_);
  llvm::Type* vector_ = llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context_), 4);
  llvm::Function* function_ = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context_),
                              {number_, number_, vector_, llvm::PointerType::getUnqual(context_), float_}, false),
      llvm::Function::ExternalLinkage, "f", module_);
  llvm::Value* i_ = function_->getArg(0);
  llvm::Value* j_ = function_->getArg(1);
  llvm::Value* lanes_ = function_->getArg(2);
  llvm::Value* pointer_ = function_->getArg(3);
  llvm::Value* x_ = function_->getArg(4);
  llvm::BasicBlock* block_ = NewBlock();
  Builder b_{block_};
};

TEST_F(Known, InstructionsAreWrittenOnce) {
  const auto write = [&] {
    llvm::Value* index = b_.CreateNSWAdd(b_.CreateNSWMul(i_, b_.getInt64(100)), j_);
    llvm::Value* address = b_.CreateInBoundsGEP(float_, pointer_, index);
    llvm::Value* less = b_.CreateICmpSLT(b_.CreateTrunc(i_, b_.getInt32Ty()), b_.getInt32(7));
    llvm::Value* lane = b_.CreateExtractElement(lanes_, b_.getInt64(1));
    llvm::Value* splat = b_.CreateVectorSplat(4, lane);
    llvm::Value* chosen = b_.CreateSelect(less, splat, b_.CreateShuffleVector(lanes_, {3, 2, 1, 0}));
    return std::vector{index, address, less, lane, splat, chosen, b_.CreateUDiv(i_, j_)};
  };
  const auto first = write();
  const size_t written = block_->size();
  EXPECT_EQ(write(), first);
  EXPECT_EQ(block_->size(), written);
}

TEST_F(Known, OthersAreNotTheSame) {
  llvm::Value* sum = b_.CreateNSWAdd(i_, j_);
  EXPECT_NE(b_.CreateAdd(i_, j_), sum);     // may wrap
  EXPECT_NE(b_.CreateNSWAdd(i_, i_), sum);  // another operand
  EXPECT_NE(b_.CreateNSWMul(i_, j_), sum);
  EXPECT_NE(b_.CreateInBoundsGEP(float_, pointer_, i_), b_.CreateInBoundsGEP(number_, pointer_, i_));
  EXPECT_NE(b_.CreateInBoundsGEP(float_, pointer_, i_), b_.CreateGEP(float_, pointer_, i_));
  EXPECT_NE(b_.CreateICmpSLT(i_, j_), b_.CreateICmpULT(i_, j_));
  EXPECT_NE(b_.CreateShuffleVector(lanes_, {3, 2, 1, 0}), b_.CreateShuffleVector(lanes_, {0, 0, 0, 0}));
  EXPECT_NE(b_.CreateUDiv(i_, j_, "", /*isExact=*/true), b_.CreateUDiv(i_, j_));
  EXPECT_NE(b_.CreateZExt(i_, b_.getInt128Ty(), "", /*IsNonNeg=*/true), b_.CreateZExt(i_, b_.getInt128Ty()));
}

TEST_F(Known, LoadsAreWrittenAgain) { EXPECT_NE(b_.CreateLoad(float_, pointer_), b_.CreateLoad(float_, pointer_)); }

TEST_F(Known, ABlockKnowsNothingOfOthers) {
  llvm::Value* sum = b_.CreateNSWAdd(i_, j_);
  llvm::BasicBlock* other = NewBlock();
  b_.SetInsertPoint(other);
  llvm::Value* there = b_.CreateNSWAdd(i_, j_);
  EXPECT_NE(there, sum);
  b_.SetInsertPoint(block_);
  EXPECT_NE(b_.CreateNSWAdd(i_, j_), there);
}

TEST_F(Known, InstructionsFurtherDownAreNotUsed) {
  llvm::Value* sum = b_.CreateNSWAdd(i_, j_);
  b_.SetInsertPoint(block_, block_->begin());
  llvm::Value* before = b_.CreateNSWAdd(i_, j_);
  EXPECT_NE(before, sum);
  EXPECT_EQ(before, &block_->front());
}

}  // namespace
}  // namespace tilewright::codegen
