#include "codegen/llvm/emit_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/abi/abi_type.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/llvm/pointer_facts.h"

namespace tilewright::codegen {

llvm::Value* ArgumentCode::Tensor(size_t index) const {
  llvm::Type* ptr = b().getPtrTy();
  return b().CreateLoad(ptr, b().CreateConstInBoundsGEP1_64(ptr, tensors, index));
}

llvm::Value* ArgumentCode::Field(llvm::Value* tensor, TensorField field) const {
  llvm::StructType* type = TensorType(context.llvm);
  return b().CreateLoad(type->getElementType(field), b().CreateStructGEP(type, tensor, field));
}

llvm::Value* ArgumentCode::Data(llvm::Value* tensor) const {
  llvm::Value* base = Field(tensor, kData);
  return b().CreateGEP(b().getInt8Ty(), base, Field(tensor, kOffset));
}

std::vector<llvm::Value*> LoadNumbers(Builder& b, llvm::Value* array, size_t count) {
  llvm::Type* i64 = b.getInt64Ty();
  std::vector<llvm::Value*> numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(b.CreateLoad(i64, b.CreateConstInBoundsGEP1_64(i64, array, i)));
  }
  return numbers;
}

std::vector<llvm::Value*> ArgumentCode::Extents(llvm::Value* tensor, size_t rank) const {
  if (rank == 0) return {};
  return LoadNumbers(b(), Field(tensor, kShape), rank);
}

std::vector<llvm::Value*> ArgumentCode::Strides(llvm::Value* tensor, const std::vector<llvm::Value*>& compact) const {
  if (compact.empty()) return {};
  llvm::Value* array = Field(tensor, kStrides);
  auto* given = llvm::BasicBlock::Create(context.llvm, "strides", function);
  auto* done = llvm::BasicBlock::Create(context.llvm, "strides.done", function);
  llvm::BasicBlock* before = b().GetInsertBlock();
  b().CreateCondBr(b().CreateIsNull(array), done, given);
  b().SetInsertPoint(given);
  std::vector<llvm::Value*> strides = LoadNumbers(b(), array, compact.size());
  b().CreateBr(done);
  b().SetInsertPoint(done);
  for (size_t i = 0; i < compact.size(); ++i) {
    llvm::PHINode* phi = b().CreatePHI(b().getInt64Ty(), 2);
    phi->addIncoming(strides[i], given);
    phi->addIncoming(compact[i], before);
    strides[i] = phi;
  }
  return strides;
}

std::vector<llvm::Value*> ArgumentCode::Compact(const std::vector<llvm::Value*>& extents) const {
  std::vector<llvm::Value*> strides(extents.size());
  llvm::Value* product = b().getInt64(1);
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = product;
    product = b().CreateMul(product, extents[i]);
  }
  return strides;
}

void ArgumentCode::Check(llvm::Value* condition, TwError error, const std::string& format,
                         llvm::ArrayRef<llvm::Value*> args) const {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isOne()) return;
  auto* failed = llvm::BasicBlock::Create(context.llvm, "refused", function);
  auto* passed = llvm::BasicBlock::Create(context.llvm, "checked", function);
  b().CreateCondBr(condition, passed, failed);
  b().SetInsertPoint(failed);
  EmitMessage(context, b(), call, format, args);
  b().CreateRet(b().getInt32(error));
  b().SetInsertPoint(passed);
}

namespace {

// Arguments, or pairs of them, whose checks are one function.
constexpr size_t kPart = 32;

// code | bits << 8 | lanes << 16, as TwDataType lies in memory on a little-endian machine.
uint32_t DtypeWord(DataType type) {
  const TwDataType word = AbiType(type);
  return word.code | static_cast<uint32_t>(word.bits) << 8 | static_cast<uint32_t>(word.lanes) << 16;
}

class CheckEmitter {
 public:
  CheckEmitter(const ArgumentCode& exported, const Function& function, std::vector<Var> variables)
      : exported_(exported), function_(function), variables_(std::move(variables)) {}

  absl::Status Form() {
    InParts("form", params().size(), [&](const ArgumentCode& code, size_t i) { CheckForm(code, i); });
    return status_;
  }
  absl::Status Values() {
    const auto of_each = [&](const char* name, void (CheckEmitter::*check)(const ArgumentCode&, size_t) const) {
      InParts(name, params().size(), [&](const ArgumentCode& code, size_t i) {
        if (params()[i].buffer) (this->*check)(code, i);
      });
    };
    of_each("shapes", &CheckEmitter::CheckShape);
    of_each("strides", &CheckEmitter::CheckStrides);
    of_each("data", &CheckEmitter::CheckData);
    of_each("alignment", &CheckEmitter::CheckAlignment);
    const auto pairs = PairsThatMayOverlap();
    InParts("overlap", pairs.size(), [&](const ArgumentCode& code, size_t i) { CheckOverlap(code, pairs[i]); });
    return status_;
  }

 private:
  using Pair = std::pair<size_t, size_t>;

  const std::vector<Param>& params() const { return function_->params; }
  // "argument 0 (A)"
  std::string Label(size_t index) const {
    const Param& param = params()[index];
    return absl::StrCat("argument ", index, " (", param.buffer ? param.buffer->name : param.var.name(), ")");
  }

  // Emits the checks of the numbers below `count`.
  void InParts(const std::string& name, size_t count, const std::function<void(const ArgumentCode&, size_t)>& check) {
    if (count <= kPart) {
      for (size_t i = 0; i < count; ++i) check(exported_, i);
      return;
    }
    std::vector<llvm::Value*> given = {exported_.call, exported_.tensors};
    for (const Var& var : variables_) given.push_back(exported_.emitter.Emit(Expr(var)));
    for (size_t first = 0; first < count; first += kPart) {
      llvm::Function* part = MakePart(absl::StrCat(function_->name, ".", name, first), given);
      FunctionEmitter emitter(exported_.context, part, function_->name, false);
      for (unsigned i = 0; i < variables_.size(); ++i) emitter.Bind(variables_[i], part->getArg(i + 2));
      const ArgumentCode code{exported_.context, emitter, part, part->getArg(0), part->getArg(1)};
      for (size_t i = first; i < std::min(count, first + kPart); ++i) check(code, i);
      code.b().CreateRet(code.b().getInt32(kTwOk));
      if (status_.ok()) status_ = emitter.status();
      ReturnUnlessOk(exported_.b().CreateCall(part, given));
    }
  }

  llvm::Function* MakePart(const std::string& name, const std::vector<llvm::Value*>& given) const {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* value : given) types.push_back(value->getType());
    auto* type = llvm::FunctionType::get(exported_.b().getInt32Ty(), types, false);
    auto* part = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, exported_.context.module);
    part->addFnAttr(llvm::Attribute::OptimizeNone);
    part->addFnAttr(llvm::Attribute::NoInline);
    return part;
  }

  void ReturnUnlessOk(llvm::Value* error) {
    Builder& b = exported_.b();
    auto* failed = llvm::BasicBlock::Create(exported_.context.llvm, "refused", exported_.function);
    auto* passed = llvm::BasicBlock::Create(exported_.context.llvm, "checked", exported_.function);
    b.CreateCondBr(b.CreateIsNull(error), passed, failed);
    b.SetInsertPoint(failed);
    b.CreateRet(error);
    b.SetInsertPoint(passed);
  }

  void CheckForm(const ArgumentCode& code, size_t index) const {
    Builder& b = code.b();
    const Param& param = params()[index];
    const std::string label = Label(index);
    llvm::Value* tensor = code.Tensor(index);
    code.Check(b.CreateIsNotNull(tensor), kTwErrorNullArgument, label + " is null", {});
    if (!param.buffer) {
      code.Check(b.CreateIsNotNull(code.Field(tensor, kData)), kTwErrorNullArgument, label + " has no data", {});
    }
    llvm::Value* device = code.Field(tensor, kDeviceType);
    code.Check(b.CreateICmpEQ(device, b.getInt32(kTwCpu)), kTwErrorDevice,
               label + " lies on a device of type %d, not on the CPU", {device});
    if (!param.buffer && param.var.dtype().is_handle()) return;
    const DataType type = param.buffer ? param.buffer->dtype : param.var.dtype();
    const uint64_t rank = param.buffer ? param.buffer->ndim() : 0;
    llvm::Value* ndim = code.Field(tensor, kNdim);
    code.Check(b.CreateICmpEQ(ndim, b.getInt32(static_cast<uint32_t>(rank))), kTwErrorRank,
               absl::StrCat(label, " has %d dimensions, expected ", rank), {ndim});
    llvm::Value* dtype = code.Field(tensor, kDtype);
    code.Check(b.CreateICmpEQ(dtype, b.getInt32(DtypeWord(type))), kTwErrorType,
               absl::StrCat(label, " is not of type ", type.ToString()), {});
  }

  void CheckShape(const ArgumentCode& code, size_t index) const {
    Builder& b = code.b();
    const Buffer& buffer = params()[index].buffer;
    const std::vector<llvm::Value*> extents = code.Extents(code.Tensor(index), buffer->ndim());
    for (size_t i = 0; i < extents.size(); ++i) {
      llvm::Value* expected = code.emitter.EmitIndex(buffer->shape[i]);
      llvm::Value* same = b.CreateICmpEQ(extents[i], expected);
      llvm::Value* sound = b.CreateICmpSGE(extents[i], b.getInt64(0));
      code.Check(b.CreateAnd(same, sound), kTwErrorShape,
                 absl::StrCat(Label(index), ": dimension ", i, " has extent %lld, expected %lld"),
                 {extents[i], expected});
    }
  }

  // What comes after shapes: those are as expected. `empty`: a tensor without elements.
  struct Expected {
    std::vector<llvm::Value*> extents, strides;
    llvm::Value* empty;
  };
  Expected ExpectedOf(const ArgumentCode& code, size_t index) const {
    const Buffer& buffer = params()[index].buffer;
    Expected expected{.empty = code.b().getFalse()};
    for (const Expr& extent : buffer->shape) expected.extents.push_back(code.emitter.EmitIndex(extent));
    for (llvm::Value* extent : expected.extents) {
      expected.empty = code.b().CreateOr(expected.empty, code.b().CreateIsNull(extent));
    }
    for (const Expr& stride : buffer->strides) expected.strides.push_back(code.emitter.EmitIndex(stride));
    if (buffer->strides.empty()) expected.strides = code.Compact(expected.extents);
    return expected;
  }

  void CheckStrides(const ArgumentCode& code, size_t index) const {
    Builder& b = code.b();
    const Expected expected = ExpectedOf(code, index);
    const std::vector<llvm::Value*> strides = code.Strides(code.Tensor(index), code.Compact(expected.extents));
    for (size_t i = strides.size(); i-- > 0;) {
      // The stride of a single element is never used, and none is where there are no elements.
      llvm::Value* same = b.CreateICmpEQ(strides[i], expected.strides[i]);
      llvm::Value* unused = b.CreateOr(b.CreateICmpSLE(expected.extents[i], b.getInt64(1)), expected.empty);
      code.Check(b.CreateOr(same, unused), kTwErrorStrides,
                 absl::StrCat(Label(index), ": dimension ", i, " has stride %lld, expected %lld"),
                 {strides[i], expected.strides[i]});
    }
  }

  // From its first element to behind its last one.
  llvm::Value* Bytes(const ArgumentCode& code, size_t index) const {
    Builder& b = code.b();
    const Expected expected = ExpectedOf(code, index);
    llvm::Value* last = b.getInt64(0);
    for (size_t i = expected.extents.size(); i-- > 0;) {
      llvm::Value* before_end = b.CreateSub(expected.extents[i], b.getInt64(1));
      last = b.CreateAdd(last, b.CreateMul(before_end, expected.strides[i]));
    }
    const Buffer& buffer = params()[index].buffer;
    const uint64_t element = static_cast<uint64_t>(buffer->dtype.bytes() * buffer->dtype.lanes());
    llvm::Value* bytes = b.CreateMul(b.CreateAdd(last, b.getInt64(1)), b.getInt64(element));
    return b.CreateSelect(expected.empty, b.getInt64(0), bytes);
  }

  // Arrays without elements may have no memory.
  void CheckData(const ArgumentCode& code, size_t index) const {
    Builder& b = code.b();
    llvm::Value* given = b.CreateIsNotNull(code.Field(code.Tensor(index), kData));
    code.Check(b.CreateOr(given, b.CreateIsNull(Bytes(code, index))), kTwErrorNullArgument,
               Label(index) + " has no data", {});
  }

  void CheckAlignment(const ArgumentCode& code, size_t index) const {
    const Buffer& buffer = params()[index].buffer;
    if (buffer->alignment <= 1) return;
    Builder& b = code.b();
    llvm::Value* address = b.CreatePtrToInt(code.Data(code.Tensor(index)), b.getInt64Ty());
    llvm::Value* rest = b.CreateAnd(address, b.getInt64(static_cast<uint64_t>(buffer->alignment) - 1));
    code.Check(b.CreateIsNull(rest), kTwErrorAlignment,
               absl::StrCat(Label(index), " is not aligned to ", buffer->alignment, " bytes"), {});
  }

  // In the order of the arguments.
  std::vector<Pair> PairsThatMayOverlap() const {
    const std::unordered_set<const VarNode*> written = WrittenBuffers(function_->body);
    const auto is_written = [&](const Param& param) {
      return written.contains(param.buffer->data.get()) || written.contains(param.var.get());
    };
    std::vector<size_t> buffers;
    std::vector<bool> writes(params().size());
    for (size_t i = 0; i < params().size(); ++i) {
      if (!params()[i].buffer) continue;
      buffers.push_back(i);
      writes[i] = is_written(params()[i]);
    }
    std::vector<Pair> pairs;
    for (auto i = buffers.begin(); i != buffers.end(); ++i) {
      for (auto j = i + 1; j != buffers.end(); ++j) {
        if (writes[*i] || writes[*j]) pairs.emplace_back(*i, *j);
      }
    }
    return pairs;
  }

  // The memory of an argument in a function, read where its first pair is.
  struct Memory {
    llvm::Value *data, *begin, *end;
    std::vector<llvm::Value*> extents;
  };
  const Memory& MemoryOf(const ArgumentCode& code, size_t index) {
    const auto [it, is_new] = memory_.try_emplace({code.function, index});
    if (!is_new) return it->second;
    llvm::Value* data = code.Data(code.Tensor(index));
    llvm::Value* begin = code.b().CreatePtrToInt(data, code.b().getInt64Ty());
    llvm::Value* end = code.b().CreateAdd(begin, Bytes(code, index));
    return it->second = {data, begin, end, ExpectedOf(code, index).extents};
  }

  void CheckOverlap(const ArgumentCode& code, const Pair& pair) {
    Builder& b = code.b();
    const Memory& first = MemoryOf(code, pair.first);
    const Memory& second = MemoryOf(code, pair.second);
    llvm::Value* apart = b.CreateOr(b.CreateICmpULE(first.end, second.begin), b.CreateICmpULE(second.end, first.begin));
    if (MayShareMemory(code.context, function_->name, pair.first, pair.second)) {
      llvm::Value* same = b.CreateICmpEQ(first.data, second.data);
      for (size_t d = 0; d < first.extents.size(); ++d) {
        same = b.CreateAnd(same, b.CreateICmpEQ(first.extents[d], second.extents[d]));
      }
      apart = b.CreateOr(apart, same);
    }
    code.Check(apart, kTwErrorAliasing,
               absl::StrCat(Label(pair.first), " and ", Label(pair.second), " overlap, and one of them is written"),
               {});
  }

  const ArgumentCode& exported_;
  const Function& function_;
  const std::vector<Var> variables_;
  std::map<std::pair<llvm::Function*, size_t>, Memory> memory_;
  absl::Status status_;
};

}  // namespace

absl::Status CheckForm(const ArgumentCode& code, const Function& function) {
  return CheckEmitter(code, function, {}).Form();
}

absl::Status CheckValues(const ArgumentCode& code, const Function& function, const std::vector<Var>& variables) {
  return CheckEmitter(code, function, variables).Values();
}

}  // namespace tilewright::codegen
