// Calls of a kernel: of the runtime, of what the emulator does not have, and inline PTX.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/foreign/find_kernel.h"
#include "codegen/foreign/rewrite.h"
#include "codegen/foreign/runtime.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace tilewright::foreign {
namespace {

// Numbers and pointers as 64 bits.
llvm::Value* ToBits(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy()) return builder.CreatePtrToInt(value, builder.getInt64Ty());
  if (!type->isIntegerTy()) {
    value = builder.CreateBitCast(value, builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits())));
  }
  return builder.CreateZExt(value, builder.getInt64Ty());
}

llvm::Value* FromBits(llvm::IRBuilder<>& builder, llvm::Value* bits, llvm::Type* type) {
  if (type->isPointerTy()) return builder.CreateIntToPtr(bits, type);
  if (type->isIntegerTy()) return builder.CreateTrunc(bits, type);
  const auto width = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  return builder.CreateBitCast(builder.CreateTrunc(bits, builder.getIntNTy(width)), type);
}

bool IsOneNumber(const llvm::Type* type) {
  return type->isPointerTy() || (type->isSingleValueType() && type->getPrimitiveSizeInBits() <= 64);
}

}  // namespace

absl::Status Rewriter::Refuse(const llvm::Instruction& instruction, const std::string& what) {
  return absl::UnimplementedError(absl::StrCat(places_.Name(instruction), ": ", what));
}

absl::Status Rewriter::Calls(llvm::Function& function) {
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  for (llvm::Instruction* instruction : instructions) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
      TW_RETURN_IF_ERROR(Call(*call));
    } else if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::FenceInst>(instruction)) {
      return Refuse(*instruction, absl::StrCat("an atomic operation of the compiler (", instruction->getOpcodeName(),
                                               ") is outside of what the emulator takes; atomicAdd and its kin are "
                                               "within"));
    }
  }
  return absl::OkStatus();
}

absl::Status Rewriter::Call(llvm::CallInst& call) {
  if (call.isInlineAsm()) return Assembly(call);
  llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return absl::OkStatus();
  const std::string name = callee->getName().str();
  llvm::IRBuilder<> builder(&call);
  const auto set_place = [&] {
    builder.CreateCall(module_.getOrInsertFunction(kSetPlace, builder.getVoidTy(), builder.getInt32Ty()),
                       {PlaceAt(builder, call)});
  };
  if (name == "llvm.nvvm.barrier0" || name == "llvm.trap" || name == "llvm.debugtrap") {
    set_place();
    builder.CreateCall(
        module_.getOrInsertFunction(name == "llvm.nvvm.barrier0" ? kBlockBarrier : kTrap, builder.getVoidTy()));
    call.eraseFromParent();
    return absl::OkStatus();
  }
  if (name.starts_with("llvm.nvvm.")) {
    return Refuse(call, absl::StrCat("the compiler's ", name.substr(5), " is outside of what the emulator takes"));
  }
  if (callee->isIntrinsic() || IsMathFunction(name)) return absl::OkStatus();
  if (!IsRuntimeFunction(name)) {
    return Refuse(call, absl::StrCat("calls ", NameOfFunction(name), ", which has no definition in the text"));
  }
  if (!callee->doesNotAccessMemory()) set_place();
  return absl::OkStatus();
}

absl::Status Rewriter::Assembly(llvm::CallInst& call) {
  const auto& assembly = *llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
  std::vector<llvm::Type*> outputs;
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(call.getType())) {
    outputs = {structure->element_begin(), structure->element_end()};
  } else if (!call.getType()->isVoidTy()) {
    outputs = {call.getType()};
  }
  const llvm::InlineAsm::ConstraintInfoVector constraints = assembly.ParseConstraints();
  size_t operands = 0;
  for (const auto& constraint : constraints) operands += constraint.Type != llvm::InlineAsm::isClobber;
  auto program = ptx::Parse(assembly.getAsmString(), operands);
  if (!program.ok()) return Refuse(call, std::string(program.status().message()));
  if (assembly.getAsmString().find("wgmma.mma_async") != std::string::npos) UseAccumulators(call);
  llvm::IRBuilder<> builder(&*entry.getFirstInsertionPt());
  llvm::Type* const i64 = builder.getInt64Ty();
  llvm::Value* slots =
      builder.CreateAlloca(llvm::ArrayType::get(i64, std::max<size_t>(operands, 1)), nullptr, "operands");
  builder.SetInsertPoint(&call);
  const auto slot = [&](size_t i) { return builder.CreateConstGEP1_64(i64, slots, i); };
  unsigned input = 0;
  size_t position = 0;
  for (const auto& constraint : constraints) {
    if (constraint.Type == llvm::InlineAsm::isClobber) continue;
    if (constraint.isIndirect) return Refuse(call, "an operand of inline PTX in memory");
    if (constraint.Type == llvm::InlineAsm::isInput) {
      llvm::Value* value = call.getArgOperand(input++);
      if (!IsOneNumber(value->getType())) return Refuse(call, "an operand of inline PTX that is not one number");
      llvm::Value* bits = ToBits(builder, value);
      builder.CreateStore(bits, slot(position));
      // An operand that is read and written is an output with an input of its number.
      const std::string& code = constraint.Codes.empty() ? std::string() : constraint.Codes[0];
      if (!code.empty() && code.find_first_not_of("0123456789") == std::string::npos) {
        builder.CreateStore(bits, slot(std::stoul(code)));
      }
    }
    ++position;
  }
  auto* address =
      builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<uint64_t>(program->get())), builder.getPtrTy());
  builder.CreateCall(module_.getOrInsertFunction(kSetPlace, builder.getVoidTy(), builder.getInt32Ty()),
                     {PlaceAt(builder, call)});
  builder.CreateCall(module_.getOrInsertFunction(kRunPtx, builder.getVoidTy(), builder.getPtrTy(), builder.getPtrTy()),
                     {address, slots});
  programs_.push_back(*std::move(program));
  llvm::Value* result =
      outputs.size() > 1 || call.getType()->isStructTy() ? llvm::PoisonValue::get(call.getType()) : nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    llvm::Value* value = FromBits(builder, builder.CreateLoad(i64, slot(i)), outputs[i]);
    result = result == nullptr ? value : builder.CreateInsertValue(result, value, {static_cast<unsigned>(i)});
  }
  if (result != nullptr) call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return absl::OkStatus();
}

}  // namespace tilewright::foreign
