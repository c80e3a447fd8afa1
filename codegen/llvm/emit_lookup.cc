// Lookups in tables that fill a register, and bytes on their way to be looked up or shifted in 32-bit lanes.
#include <string>

#include "codegen/llvm/emitter.h"
#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "llvm/IR/Intrinsics.h"

namespace tilewright::codegen {
namespace {

constexpr DataType kF32 = DataType::Float(32);
constexpr unsigned kShuffledBits = 128;  // bytes are shuffled within parts of a register

// The instruction for tables of so many floats, or null.
const MachineInstruction* LookupInstruction(const Target& target, int entries) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family == "lookup" && row.a.type == kF32 && row.n == entries && Executes(target, row)) return &row;
  }
  return nullptr;
}

llvm::SmallVector<int> Lanes(int first, int count) {
  llvm::SmallVector<int> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(first + i);
  return lanes;
}

}  // namespace

llvm::Value* FunctionEmitter::EmitLookup(const CallNode* op) {
  const DataType type = op->dtype(), table_type = op->args[0].dtype(), number = op->args[1].dtype();
  const int entries = table_type.lanes(), lanes = type.lanes();
  const bool floats = RegisterType(context_.llvm, type.element())->isFloatTy();
  const MachineInstruction* row = floats ? LookupInstruction(context_.target, entries) : nullptr;
  if (row == nullptr || lanes % entries != 0 || table_type.element() != type.element()) return nullptr;
  llvm::Value* table = Emit(op->args[0]);
  llvm::Value* numbers = Convert(builder_, number, DataType::Int(32, lanes), Emit(op->args[1]));
  const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(std::string(row->llvm));
  std::vector<llvm::Value*> found;
  for (int first = 0; first < lanes; first += entries) {
    llvm::Value* part = lanes == entries ? numbers : builder_.CreateShuffleVector(numbers, Lanes(first, entries));
    found.push_back(builder_.CreateIntrinsic(id, {}, {table, part}));
  }
  while (found.size() > 1) {
    std::vector<llvm::Value*> joined;
    const int width = lanes / static_cast<int>(found.size());
    for (size_t i = 0; i + 1 < found.size(); i += 2) {
      joined.push_back(builder_.CreateShuffleVector(found[i], found[i + 1], Lanes(0, 2 * width)));
    }
    found = std::move(joined);
  }
  return found[0];
}

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

}  // namespace tilewright::codegen
