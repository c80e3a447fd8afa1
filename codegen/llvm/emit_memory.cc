// Loads, stores and addresses. Buffers are flat here: one dimension, no strides, no layout.
#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/emitter.h"
#include "ir/arith/linear.h"
#include "ir/builtin.h"
#include "ir/changes/updates.h"
#include "target/native_types.h"

namespace tilewright::codegen {
namespace {

// Bytes at one address that an element of memory type occupies.
uint64_t ElementBytes(DataType type) {
  return static_cast<uint64_t>(type.bytes()) * static_cast<uint64_t>(type.lanes());
}

// The base of a vector of adjacent indices, or null.
const Expr* AdjacentBase(const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  return ramp != nullptr && IsInt(ramp->stride, 1) ? &ramp->base : nullptr;
}

// The step of a vector of indices of elements that are a constant distance apart, or nothing.
std::optional<int64_t> StepOf(const Buffer& buffer, const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  return ramp == nullptr || !buffer->dtype.is_scalar() ? std::nullopt : AsInt(ramp->stride);
}

}  // namespace

llvm::Value* FunctionEmitter::DataPointer(const Buffer& buffer) {
  auto it = values_.find(buffer->data.get());
  if (it == values_.end()) {
    return Fail(DataType::Handle(), absl::StrCat("buffer ", buffer->name, " is neither a parameter nor allocated"));
  }
  return it->second;
}

llvm::Value* FunctionEmitter::ElementPointer(const Buffer& buffer, llvm::Value* index) {
  return builder_.CreateInBoundsGEP(MemoryType(context_.llvm, buffer->dtype), DataPointer(buffer), index);
}

// Elements are aligned to their size; more is known of vectors at multiples of something in aligned buffers.
llvm::Align FunctionEmitter::AlignmentOf(const Buffer& buffer, const Expr& first, int lanes) const {
  const uint64_t element = static_cast<uint64_t>(buffer->dtype.bytes());
  if (lanes == 1) return llvm::Align(element);
  const uint64_t offset = static_cast<uint64_t>(arith::WrittenDivisor(first)) * ElementBytes(buffer->dtype);
  return llvm::commonAlignment(llvm::Align(static_cast<uint64_t>(std::max(buffer->alignment, 1))), offset);
}

void FunctionEmitter::FenceStreams() {
  if (streamed_) builder_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

bool FunctionEmitter::MovesOneByOne(DataType type) const {
  return type.element().bits() >= 8 && !HasGatherOf(context_.target, type.element().bits());
}

llvm::Value* FunctionEmitter::EmitLanePointers(const Buffer& buffer, const Expr& index) {
  return ElementPointer(buffer, EmitIndex(index));
}

// A load for each lane, from the address of a zero where the mask does not hold: LLVM would branch around each of them.
llvm::Value* FunctionEmitter::EmitLaneLoads(llvm::FixedVectorType* memory, llvm::Value* pointers, llvm::Value* mask,
                                            llvm::Align align) {
  llvm::Type* element = memory->getElementType();
  const std::string name = absl::StrCat("zero_", element->getPrimitiveSizeInBits().getFixedValue());
  llvm::GlobalVariable* zero = context_.module.getNamedGlobal(name);
  if (zero == nullptr) {
    llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits().getFixedValue()));
    zero = new llvm::GlobalVariable(context_.module, bits, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                    llvm::Constant::getNullValue(bits), name);
  }
  const unsigned lanes = memory->getNumElements();
  llvm::Value* places = builder_.CreateSelect(mask, pointers, builder_.CreateVectorSplat(lanes, zero));
  llvm::Value* loaded = llvm::PoisonValue::get(memory);
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    llvm::Value* place = builder_.CreateExtractElement(places, lane);
    loaded = builder_.CreateInsertElement(loaded, builder_.CreateAlignedLoad(element, place, align), lane);
  }
  return loaded;
}

llvm::Value* FunctionEmitter::EmitStridedLoads(llvm::FixedVectorType* memory, const Buffer& buffer, const Expr& index) {
  llvm::Type* element = memory->getElementType();
  llvm::Value* first = ElementPointer(buffer, EmitIndex(cast<RampNode>(index)->base));
  const auto load = [&](uint64_t lane) {
    const int64_t offset = *StepOf(buffer, index) * static_cast<int64_t>(lane);
    llvm::Value* place = builder_.CreateGEP(element, first, builder_.getInt64(static_cast<uint64_t>(offset)));
    return builder_.CreateAlignedLoad(element, place, llvm::Align(static_cast<uint64_t>(buffer->dtype.bytes())));
  };
  const uint64_t lanes = memory->getNumElements(), bits = element->getPrimitiveSizeInBits().getFixedValue();
  if (!element->isIntegerTy() || lanes * bits > 64) {
    llvm::Value* loaded = llvm::PoisonValue::get(memory);
    for (uint64_t lane = 0; lane < lanes; ++lane) loaded = builder_.CreateInsertElement(loaded, load(lane), lane);
    return loaded;
  }
  llvm::Type* number = builder_.getIntNTy(static_cast<unsigned>(lanes * bits));
  llvm::Value* loaded = llvm::Constant::getNullValue(number);
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    llvm::Value* moved = builder_.CreateShl(builder_.CreateZExt(load(lane), number), lane * bits);
    loaded = builder_.CreateOr(loaded, moved);
  }
  return builder_.CreateBitCast(loaded, memory);
}

void FunctionEmitter::EmitStridedStores(const Buffer& buffer, const Expr& index, llvm::Value* value) {
  llvm::Type* element = llvm::cast<llvm::FixedVectorType>(value->getType())->getElementType();
  llvm::Value* first = ElementPointer(buffer, EmitIndex(cast<RampNode>(index)->base));
  const int lanes = index.dtype().lanes();
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* place =
        builder_.CreateGEP(element, first, builder_.getInt64(static_cast<uint64_t>(*StepOf(buffer, index) * lane)));
    builder_.CreateAlignedStore(builder_.CreateExtractElement(value, static_cast<uint64_t>(lane)), place,
                                llvm::Align(static_cast<uint64_t>(buffer->dtype.bytes())));
  }
}

llvm::Value* FunctionEmitter::EmitLoad(const LoadNode* op) {
  return FromMemory(builder_, op->dtype(), EmitLoadedBits(op));
}

llvm::Value* FunctionEmitter::EmitLoadedBits(const LoadNode* op) {
  const Buffer& buffer = op->buffer;
  const Expr& index = op->indices[0];
  const int lanes = index.dtype().lanes();
  const DataType type = op->dtype();
  llvm::Type* memory = MemoryType(context_.llvm, type);
  llvm::Value* mask = op->predicate ? Emit(op->predicate) : nullptr;
  llvm::Value* loaded = nullptr;
  if (const Expr* base = lanes == 1 ? &index : AdjacentBase(index)) {
    llvm::Value* pointer = ElementPointer(buffer, EmitIndex(*base));
    const llvm::Align align = AlignmentOf(buffer, *base, type.lanes());
    if (mask == nullptr || IsTrue(op->predicate)) {
      loaded = builder_.CreateAlignedLoad(memory, pointer, align);
    } else if (lanes > 1) {
      loaded = builder_.CreateMaskedLoad(memory, pointer, align, mask, llvm::Constant::getNullValue(memory));
    } else {
      Fail(type, absl::StrCat("a masked load of one element of buffer ", buffer->name));
      return llvm::PoisonValue::get(memory);
    }
  } else if (const auto* broadcast = dyn_cast<BroadcastNode>(index); broadcast && mask == nullptr) {
    const Expr one = buffer.Load({broadcast->value});
    llvm::Value* element = EmitLoadedBits(cast<LoadNode>(one));
    loaded = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), element);
  } else if ((mask == nullptr || IsTrue(op->predicate)) && StepOf(buffer, index) && MovesOneByOne(type)) {
    loaded = EmitStridedLoads(llvm::cast<llvm::FixedVectorType>(memory), buffer, index);
  } else {
    llvm::Value* pointers = EmitLanePointers(buffer, index);
    const llvm::Align align(static_cast<uint64_t>(buffer->dtype.bytes()));
    if (mask != nullptr && MovesOneByOne(type)) {
      return EmitLaneLoads(llvm::cast<llvm::FixedVectorType>(memory), pointers, mask, align);
    }
    if (mask == nullptr)
      mask = llvm::Constant::getAllOnesValue(
          llvm::FixedVectorType::get(builder_.getInt1Ty(), static_cast<unsigned>(lanes)));
    loaded = builder_.CreateMaskedGather(memory, pointers, align, mask, llvm::Constant::getNullValue(memory));
  }
  return loaded;
}

void FunctionEmitter::NoteUpdates(const Stmt& s) {
  const std::vector<const BinaryNode*> updates = WrappingUpdates(s);
  wrapping_.insert(updates.begin(), updates.end());
}

void FunctionEmitter::EmitStore(const StoreNode* op) {
  const Buffer& buffer = op->buffer;
  const Expr& index = op->indices[0];
  const int lanes = index.dtype().lanes();
  const DataType type = op->value.dtype();
  llvm::Value* value = EmitBits(op->value);
  llvm::Value* mask = op->predicate && !IsTrue(op->predicate) ? Emit(op->predicate) : nullptr;
  if (const Expr* base = lanes == 1 ? &index : AdjacentBase(index)) {
    llvm::Value* pointer = ElementPointer(buffer, EmitIndex(*base));
    const llvm::Align align = AlignmentOf(buffer, *base, type.lanes());
    if (mask == nullptr) {
      NoteLines(buffer, *base, type.bits() * type.lanes());
      llvm::StoreInst* store = builder_.CreateAlignedStore(value, pointer, align);
      if (streams_) {
        streamed_ = true;
        store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                           llvm::MDNode::get(context_.llvm, llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
      }
    } else if (lanes > 1) {
      builder_.CreateMaskedStore(value, pointer, align, mask);
    } else {
      FailStmt(absl::StrCat("a masked store of one element of buffer ", buffer->name));
    }
    return;
  }
  if (mask == nullptr && StepOf(buffer, index) && MovesOneByOne(type)) return EmitStridedStores(buffer, index, value);
  builder_.CreateMaskedScatter(value, EmitLanePointers(buffer, index),
                               llvm::Align(static_cast<uint64_t>(buffer->dtype.bytes())), mask);
}

llvm::Value* FunctionEmitter::EmitAddressCall(const CallNode* op) {
  if (op->op == kPrefetch) {
    const auto* address = dyn_cast<CallNode>(op->args[0]);
    const auto* load = address != nullptr && address->op == kAddressOf ? dyn_cast<LoadNode>(address->args[0]) : nullptr;
    if (load == nullptr) return Fail(op->dtype(), "prefetch takes the address of an element");
    // May lie outside of the buffer.
    llvm::Value* pointer = builder_.CreateGEP(MemoryType(context_.llvm, load->buffer->dtype), DataPointer(load->buffer),
                                              EmitIndex(load->indices[0]));
    constexpr uint32_t kRead = 0, kToAllLevels = 3, kData = 1;
    return builder_.CreateIntrinsic(
        llvm::Intrinsic::prefetch, {pointer->getType()},
        {pointer, builder_.getInt32(kRead), builder_.getInt32(kToAllLevels), builder_.getInt32(kData)});
  }
  if (op->op == kAddressOf) {
    const auto* load = dyn_cast<LoadNode>(op->args[0]);
    if (load == nullptr) return Fail(op->dtype(), "address_of takes an element of a buffer");
    return ElementPointer(load->buffer, EmitIndex(load->indices[0]));
  }
  if (op->op == kAccessPtr) {
    llvm::Type* element = MemoryType(context_.llvm, op->args[0].dtype());
    return builder_.CreateInBoundsGEP(element, Emit(op->args[1]), EmitIndex(op->args[2]));
  }
  return nullptr;
}

}  // namespace tilewright::codegen
