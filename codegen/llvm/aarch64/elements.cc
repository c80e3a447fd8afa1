// Instructions that multiply a vector by one element of a register, which costs nothing. LLVM would load and spread the
// element by one instruction, which occupies a unit that multiplies, unless it cannot see both.
#include "codegen/llvm/emitter.h"
#include "llvm/IR/InlineAsm.h"

namespace tilewright::codegen {

bool FunctionEmitter::MultipliesByElements() const { return context_.target.has("neon"); }

const char* FunctionEmitter::SameVectorRegister() const { return MultipliesByElements() ? "=w,0" : "=v,0"; }

llvm::Value* FunctionEmitter::OpaqueVector(llvm::Value* vector) {
  auto* signature = llvm::FunctionType::get(vector->getType(), {vector->getType()}, false);
  llvm::CallInst* call =
      builder_.CreateCall(llvm::InlineAsm::get(signature, "", SameVectorRegister(), false), {vector});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

llvm::Value* FunctionEmitter::SplatElement(llvm::Value* number, unsigned lanes) {
  if (!MultipliesByElements()) return builder_.CreateVectorSplat(lanes, number);
  auto* type = llvm::FixedVectorType::get(number->getType(), lanes);
  llvm::Value* first = builder_.CreateInsertElement(llvm::PoisonValue::get(type), number, uint64_t{0});
  return builder_.CreateShuffleVector(OpaqueVector(first), llvm::SmallVector<int>(lanes, 0));
}

llvm::Value* FunctionEmitter::SplatOfLine(const LoadNode* load, llvm::Type* number, uint32_t flip) {
  if (load->buffer->scope.kind() != MemoryKind::kRegister || load->predicate || lines_.empty()) return nullptr;
  const auto* ramp = dyn_cast<RampNode>(load->indices[0]);
  if (ramp != nullptr && !IsInt(ramp->stride, 1)) return nullptr;
  const std::optional<int64_t> first = AsInt(ramp != nullptr ? ramp->base : load->indices[0]);
  if (!first) return nullptr;
  const int64_t line_bits = context_.target.cpu_part().vector_bits, bits = number->getScalarSizeInBits();
  const int64_t begin = *first * load->buffer->dtype.bits(), line = begin / line_bits;
  llvm::Value* data = DataPointer(load->buffer);
  if (begin % bits != 0 || !lines_.contains({data, line})) return nullptr;
  const auto lanes = static_cast<unsigned>(line_bits / bits);
  llvm::Value* address =
      builder_.CreateConstGEP1_64(builder_.getInt8Ty(), data, static_cast<uint64_t>(line * line_bits / 8));
  llvm::Value* whole = builder_.CreateAlignedLoad(llvm::FixedVectorType::get(number, lanes), address, llvm::Align(1));
  if (flip != 0) whole = builder_.CreateXor(whole, flip);
  const auto lane = static_cast<int>(begin % line_bits / bits);
  return builder_.CreateShuffleVector(OpaqueVector(whole), llvm::SmallVector<int>(lanes, lane));
}

void FunctionEmitter::NoteLines(const Buffer& buffer, const Expr& first, int bits) {
  if (buffer->scope.kind() != MemoryKind::kRegister || !MultipliesByElements()) return;
  const int64_t line_bits = context_.target.cpu_part().vector_bits;
  const std::optional<int64_t> element = AsInt(first);
  if (!element || *element * buffer->dtype.bits() % line_bits != 0) return;
  const int64_t line = *element * buffer->dtype.bits() / line_bits;
  for (int64_t i = 0; i < bits / line_bits; ++i) lines_.insert({DataPointer(buffer), line + i});
}

}  // namespace tilewright::codegen
