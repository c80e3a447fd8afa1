// Lookups in tables that fill a register.
#include <string>

#include "codegen/llvm/emitter.h"
#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "llvm/IR/Intrinsics.h"

namespace tilewright::codegen {
namespace {

constexpr DataType kF32 = DataType::Float(32);

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

}  // namespace tilewright::codegen
