// Lookups in tables that fill a register, and of bytes in larger tables.
//
// A vector of bytes is looked up in all parts of a table (intrin/lookup.h), and the numbers' high bits choose. Where an
// instruction finds zeros for numbers that are too small, sums modulo 2 of what neighbouring parts differ by choose:
//
//   number              0..15         16..31                    32..47
//   part 0              T0            T0                        T0
//   T1 ^ T0, n - 16     0             T1 ^ T0                   T1 ^ T0
//   T2 ^ T1, n - 32     0             0                         T2 ^ T1
//   all together        T0            T1                        T2
#include <algorithm>
#include <functional>
#include <string>

#include "codegen/llvm/emitter.h"
#include "intrin/instructions.h"
#include "intrin/lookup.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "llvm/IR/Intrinsics.h"

namespace tilewright::codegen {
namespace {

constexpr DataType kF32 = DataType::Float(32), kU8 = DataType::UInt(8);

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

// Vectors of the same length, in number a power of two, one behind the other.
llvm::Value* Joined(Builder& builder, std::vector<llvm::Value*> vectors, int lanes) {
  while (vectors.size() > 1) {
    std::vector<llvm::Value*> joined;
    const int width = lanes / static_cast<int>(vectors.size());
    for (size_t i = 0; i + 1 < vectors.size(); i += 2) {
      joined.push_back(builder.CreateShuffleVector(vectors[i], vectors[i + 1], Lanes(0, 2 * width)));
    }
    vectors = std::move(joined);
  }
  return vectors[0];
}

// One vector of bytes, as long as the row's.
class ByteLookup {
 public:
  // `part`: entries of the table from one on, as many as are asked for.
  using Part = std::function<llvm::Value*(int first, int count)>;

  ByteLookup(Builder& builder, const MachineInstruction& row, int entries, const Part& part)
      : b_(builder), row_(row), entries_(entries), part_(part) {}

  llvm::Value* Find(llvm::Value* numbers) {
    if (!FindsZeros(row_)) return FindByBits(numbers, 0, entries_);
    if (entries_ <= kEntriesBelowHighestBit) {
      return FindBySums(b_.CreateAnd(numbers, Byte(entries_ - 1)), 0, entries_);
    }
    llvm::Value* low = b_.CreateAnd(numbers, Byte(kEntriesBelowHighestBit - 1));
    llvm::Value* of_low = FindBySums(low, 0, kEntriesBelowHighestBit);
    llvm::Value* of_high = FindBySums(low, kEntriesBelowHighestBit, kEntriesBelowHighestBit);
    return b_.CreateSelect(IsHigh(numbers, kEntriesBelowHighestBit), of_high, of_low);
  }

 private:
  llvm::Constant* Byte(int value) {
    return llvm::ConstantInt::get(llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(row_.n)),
                                  static_cast<uint64_t>(value));
  }
  llvm::Value* Call(llvm::ArrayRef<llvm::Value*> operands) {
    return b_.CreateIntrinsic(llvm::Function::lookupIntrinsicID(std::string(row_.llvm)), {}, operands);
  }
  llvm::Value* IsHigh(llvm::Value* numbers, int bit) {
    llvm::Value* zero = Byte(0);
    if (bit == kEntriesBelowHighestBit) return b_.CreateICmpSLT(numbers, zero);
    return b_.CreateICmpNE(b_.CreateAnd(numbers, Byte(bit)), zero);
  }

  // By an instruction whose table is in two registers.
  llvm::Value* FindByBits(llvm::Value* numbers, int first, int entries) {
    if (entries == row_.k) return Call({part_(first, row_.n), numbers, part_(first + row_.n, row_.n)});
    llvm::Value* low = FindByBits(numbers, first, entries / 2);
    llvm::Value* high = FindByBits(numbers, first + entries / 2, entries / 2);
    return b_.CreateSelect(IsHigh(numbers, entries / 2), high, low);
  }

  // `numbers` are smaller than `entries`.
  llvm::Value* FindBySums(llvm::Value* numbers, int first, int entries) {
    llvm::Value *sum = nullptr, *before = nullptr;
    for (int at = 0; at < entries; at += row_.k) {
      llvm::Value* part = part_(first + at, row_.k);
      llvm::Value* difference = before == nullptr ? part : b_.CreateXor(part, before);
      before = part;
      llvm::Value* found = Call({Everywhere(difference), at == 0 ? numbers : b_.CreateSub(numbers, Byte(at))});
      sum = sum == nullptr ? found : b_.CreateXor(sum, found);
    }
    return sum;
  }
  llvm::Value* Everywhere(llvm::Value* part) {
    llvm::SmallVector<int> lanes;
    for (int i = 0; i < row_.n; ++i) lanes.push_back(i % row_.k);
    return b_.CreateShuffleVector(part, lanes);
  }

  Builder& b_;
  const MachineInstruction& row_;
  const int entries_;
  const Part& part_;
};

// The instruction for tables of so many bytes, or null.
const MachineInstruction* ByteInstruction(const Target& target, int entries) {
  const MachineInstruction* row = FindInstruction(target, "lookup", kU8, kU8, kU8);
  return row != nullptr && entries >= row->k && entries <= 2 * kEntriesBelowHighestBit ? row : nullptr;
}

}  // namespace

llvm::Value* FunctionEmitter::EmitLookup(const CallNode* op) {
  const DataType type = op->dtype(), table_type = op->args[0].dtype(), number = op->args[1].dtype();
  const int entries = table_type.lanes(), lanes = type.lanes();
  if (table_type.element() != type.element() || (entries & (entries - 1)) != 0) return nullptr;
  const bool bytes = type.is_integer() && type.bits() == kU8.bits();
  const bool floats = RegisterType(context_.llvm, type.element())->isFloatTy();
  const MachineInstruction* row = bytes    ? ByteInstruction(context_.target, entries)
                                  : floats ? LookupInstruction(context_.target, entries)
                                           : nullptr;
  if (row == nullptr || (bytes ? (lanes & (lanes - 1)) != 0 : lanes % entries != 0)) return nullptr;
  // What is loaded is loaded in parts, each to where it is used.
  const auto* load = bytes ? dyn_cast<LoadNode>(op->args[0]) : nullptr;
  const auto* range = load == nullptr || load->predicate ? nullptr : dyn_cast<RampNode>(load->indices[0]);
  const bool in_memory = range != nullptr && IsInt(range->stride, 1) && load->buffer->dtype.is_scalar();
  llvm::Value* table = in_memory ? nullptr : Emit(op->args[0]);
  const auto part = [&](int first, int count) -> llvm::Value* {
    if (!in_memory) return builder_.CreateShuffleVector(table, Lanes(first, count));
    const Expr at = arith::Simplify(range->base + Const(range->base.dtype(), first));
    return Emit(load->buffer.Load({Ramp(at, range->stride, count)}));
  };
  llvm::Value* numbers = Convert(builder_, number, row->b.type.with_lanes(lanes), Emit(op->args[1]));
  const int wide = std::max(lanes, row->n);
  if (lanes < wide) {
    llvm::SmallVector<int> padded = Lanes(0, lanes);
    padded.resize(static_cast<size_t>(wide), llvm::PoisonMaskElem);
    numbers = builder_.CreateShuffleVector(numbers, padded);
  }
  std::vector<llvm::Value*> found;
  for (int first = 0; first < wide; first += row->n) {
    llvm::Value* some = wide == row->n ? numbers : builder_.CreateShuffleVector(numbers, Lanes(first, row->n));
    if (bytes) {
      found.push_back(ByteLookup(builder_, *row, entries, part).Find(some));
    } else {
      const llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(std::string(row->llvm));
      found.push_back(builder_.CreateIntrinsic(id, {}, {table, some}));
    }
  }
  llvm::Value* all = Joined(builder_, std::move(found), wide);
  return lanes == wide ? all : builder_.CreateShuffleVector(all, Lanes(0, lanes));
}

}  // namespace tilewright::codegen
