// Accesses of variables of a thread beyond their ends, which would damage its stack.
#include <cstdint>

#include "codegen/foreign/rewrite.h"
#include "codegen/foreign/runtime.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace tilewright::foreign {

void Rewriter::Locals(llvm::Function& function) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  std::vector<llvm::Instruction*> accesses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) accesses.push_back(&instruction);
  }
  for (llvm::Instruction* access : accesses) {
    const uint64_t bytes = layout.getTypeStoreSize(llvm::getLoadStoreType(access));
    llvm::IRBuilder<> builder(access);
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(access);
    llvm::Value* offset = nullptr;
    while (auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      llvm::Value* more = llvm::emitGEPOffset(&builder, layout, element, /*NoAssumptions=*/true);
      offset = offset == nullptr ? more : builder.CreateAdd(offset, more);
      pointer = element->getPointerOperand();
    }
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(pointer);
    if (variable == nullptr || offset == nullptr || variable->isArrayAllocation()) continue;
    const uint64_t size = layout.getTypeAllocSize(variable->getAllocatedType());
    const uint64_t last = size < bytes ? 0 : size - bytes;
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(offset);
        number != nullptr && number->getZExtValue() <= last) {
      continue;
    }
    llvm::Value* outside = builder.CreateICmpUGT(offset, llvm::ConstantInt::get(offset->getType(), last));
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(outside, access, false);
    builder.SetInsertPoint(then);
    const auto callee = module_.getOrInsertFunction(kOutsideOfLocal, builder.getVoidTy(), builder.getInt32Ty(),
                                                    builder.getInt64Ty(), builder.getInt64Ty());
    builder.CreateCall(callee, {PlaceAt(builder, *access), builder.CreateSExtOrTrunc(offset, builder.getInt64Ty()),
                                builder.getInt64(size)});
  }
}

}  // namespace tilewright::foreign
