// Shuffles of AVX2 and AVX-512 for which LLVM makes more than one instruction: bytes on their way to be looked up or
// shifted in 32-bit lanes, and neighbours across two vectors.
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/emitter.h"
#include "llvm/IR/InlineAsm.h"

namespace tilewright::codegen {
namespace {

constexpr unsigned kShuffledBits = 128;  // bytes are shuffled within parts of a register

}  // namespace

// A source of up to 16 bytes is loaded into every part of a register, where one instruction puts each element and its
// zeros in place. LLVM repeats and widens in two.
llvm::Value* FunctionEmitter::EmitWidenedBytes(const CastNode* op) {
  const auto* shuffle = dyn_cast<ShuffleNode>(op->value);
  const DataType to = op->dtype(), from = op->value.dtype();
  if (shuffle == nullptr || shuffle->vectors.size() != 1 || !from.is_uint() || !to.is_integer()) return nullptr;
  const DataType source = shuffle->vectors[0].dtype();
  const unsigned source_bits = static_cast<unsigned>(source.bits() * source.lanes());
  const unsigned bits = static_cast<unsigned>(to.bits() * to.lanes());
  const bool whole = source_bits == 32 || source_bits == 64 || source_bits == 128;
  if (!whole || from.bits() < 8 || to.bits() <= from.bits() || bits % kShuffledBits != 0 || bits <= kShuffledBits) {
    return nullptr;
  }
  if (!context_.target.has(bits == 512 ? "avx512bw" : "avx2") ||
      bits > static_cast<unsigned>(context_.target.cpu_part().vector_bits)) {
    return nullptr;
  }
  llvm::Value* value = builder_.CreateBitCast(Emit(shuffle->vectors[0]), builder_.getIntNTy(source_bits));
  const unsigned copies = bits / source_bits, bytes = bits / 8;
  auto* const byte_vector = llvm::FixedVectorType::get(builder_.getInt8Ty(), bytes);
  llvm::Value* everywhere = builder_.CreateBitCast(builder_.CreateVectorSplat(copies, value), byte_vector);
  const int from_bytes = from.bytes(), to_bytes = to.bytes();
  llvm::SmallVector<int> picked;
  for (int at = 0; at < static_cast<int>(bytes); ++at) {
    const int lane = at / to_bytes, byte = at % to_bytes, part = at / static_cast<int>(kShuffledBits / 8);
    const int element = shuffle->indices[static_cast<size_t>(lane)];
    picked.push_back(byte < from_bytes ? part * static_cast<int>(kShuffledBits / 8) + element * from_bytes + byte
                                       : static_cast<int>(bytes));
  }
  llvm::Value* placed = builder_.CreateShuffleVector(everywhere, llvm::Constant::getNullValue(byte_vector), picked);
  return builder_.CreateBitCast(placed, RegisterType(context_.llvm, to));
}

llvm::Value* FunctionEmitter::EmitWindow(llvm::Value* low, llvm::Value* high, const std::vector<int>& lanes) {
  llvm::Type* const type = low->getType();
  const unsigned bits = type->getScalarSizeInBits();
  const size_t count = lanes.size();
  if (!context_.target.has("avx512f") || (bits != 32 && bits != 64) || bits * count != 512) return nullptr;
  if (lanes[0] <= 0 || static_cast<size_t>(lanes[0]) >= count) return nullptr;
  for (size_t i = 1; i < count; ++i) {
    if (lanes[i] != lanes[i - 1] + 1) return nullptr;
  }
  const std::string instruction = absl::StrCat(bits == 32 ? "valignd" : "valignq", " $$", lanes[0], ", $1, $2, $0");
  auto* const signature = llvm::FunctionType::get(type, {type, type}, false);
  llvm::CallInst* call =
      builder_.CreateCall(llvm::InlineAsm::get(signature, instruction, "=v,v,v", false), {low, high});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

}  // namespace tilewright::codegen
