// Sums of wgmma that are arrays of the thread: reading or writing one while a product is under way is a fault, although
// here the product is computed when it is issued.
#include <cstdint>
#include <map>
#include <vector>

#include "codegen/cuda/emulator/device/emulated_wgmma.h"
#include "codegen/foreign/rewrite.h"
#include "codegen/foreign/runtime.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

namespace tilewright::foreign {
namespace {

constexpr uint64_t kRegisterBytes = 4;

const llvm::AllocaInst* VariableOf(const llvm::Value* pointer) {
  return llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer, 0));
}

// The byte of `pointer` within its variable.
llvm::Value* OffsetOf(llvm::IRBuilder<>& builder, const llvm::DataLayout& layout, llvm::Value* pointer) {
  llvm::Value* offset = builder.getInt64(0);
  while (auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
    offset = builder.CreateAdd(offset, llvm::emitGEPOffset(&builder, layout, element, /*NoAssumptions=*/true));
    pointer = element->getPointerOperand();
  }
  return llvm::isa<llvm::AllocaInst>(pointer) ? offset : nullptr;
}

}  // namespace

uint64_t Rewriter::CountOf(const llvm::AllocaInst& variable) const {
  const uint64_t bytes = module_.getDataLayout().getTypeAllocSize(variable.getAllocatedType());
  return (bytes + kRegisterBytes - 1) / kRegisterBytes;
}

llvm::Value* Rewriter::StateOf(const llvm::AllocaInst* variable) {
  llvm::Value*& state = states_[variable];
  if (state != nullptr) return state;
  llvm::IRBuilder<> builder(const_cast<llvm::AllocaInst*>(variable));
  const uint64_t size = CountOf(*variable) * sizeof(tw::emu::AccumulatorState);
  llvm::AllocaInst* memory = builder.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), size), nullptr, "sums");
  memory->setAlignment(llvm::Align(8));
  builder.CreateMemSet(memory, builder.getInt8(0), size, llvm::Align(8));
  return state = memory;
}

// The statement multiplies into registers that were loaded from variables just before it, and are stored after.
void Rewriter::UseAccumulators(llvm::CallInst& call) {
  for (const llvm::Use& operand : call.args()) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(operand.get());
    if (load == nullptr || load->getType()->getScalarSizeInBits() != 32) continue;
    const llvm::AllocaInst* variable = VariableOf(load->getPointerOperand());
    if (variable == nullptr || variable->isArrayAllocation()) continue;
    llvm::IRBuilder<> builder(&call);
    llvm::Value* offset = OffsetOf(builder, module_.getDataLayout(), load->getPointerOperand());
    if (offset == nullptr) continue;
    own_.insert(load);
    llvm::Type* const i64 = builder.getInt64Ty();
    builder.CreateCall(
        module_.getOrInsertFunction(kUseSum, builder.getVoidTy(), builder.getPtrTy(), i64, i64, builder.getInt32Ty()),
        {StateOf(variable), builder.getInt64(CountOf(*variable)), offset, PlaceAt(builder, call)});
  }
  for (llvm::User* user : call.users()) {
    for (llvm::User* stored : user->users()) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(stored)) own_.insert(store);
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) own_.insert(store);
  }
}

void Rewriter::Accumulators(llvm::Function& function) {
  if (states_.empty()) return;
  std::vector<llvm::Instruction*> accesses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::MemIntrinsic>(instruction)) accesses.push_back(&instruction);
  }
  const llvm::DataLayout& layout = module_.getDataLayout();
  for (llvm::Instruction* access : accesses) {
    if (own_.contains(access)) continue;
    auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(access);
    llvm::Value* pointer = memory != nullptr ? memory->getRawDest() : llvm::getLoadStorePointerOperand(access);
    const auto state = states_.find(VariableOf(pointer));
    if (state == states_.end()) continue;
    llvm::IRBuilder<> builder(access);
    llvm::Value* offset = OffsetOf(builder, layout, pointer);
    if (offset == nullptr) continue;
    llvm::Value* bytes = memory != nullptr ? builder.CreateZExtOrTrunc(memory->getLength(), builder.getInt64Ty())
                                           : builder.getInt64(layout.getTypeStoreSize(llvm::getLoadStoreType(access)));
    llvm::Type* const i64 = builder.getInt64Ty();
    builder.CreateCall(
        module_.getOrInsertFunction(kTouchSum, builder.getVoidTy(), builder.getPtrTy(), i64, i64, i64,
                                    builder.getInt32Ty()),
        {state->second, builder.getInt64(CountOf(*state->first)), offset, bytes, PlaceAt(builder, *access)});
  }
}

}  // namespace tilewright::foreign
