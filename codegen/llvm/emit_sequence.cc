// A function that calls others in order (codegen/sized_sequence.h): pointers are stored into one array per call.
// Extents are tables in the read-only part of the file, or in the table of what depends on the extents of this call.
#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/llvm/emitter.h"

namespace tilewright::codegen {
namespace {

using Argument = SizedSequence::Argument;
using Memory = SizedSequence::Memory;

// `path` in the text of a string of assembly: three octal digits for each character that may mean something there.
std::string InAssembly(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) || c == '/' || c == '.' || c == '_' || c == '-';
    absl::StrAppend(&text, plain ? std::string(1, c) : absl::StrFormat("\\%03o", byte));
  }
  return text;
}

class SequenceEmitter {
 public:
  SequenceEmitter(ModuleContext& context, const SizedSequence& sequence)
      : context_(context), sequence_(sequence), b_(context.llvm) {}

  absl::Status Emit() {
    EmitConstants();
    TW_RETURN_IF_ERROR(CountTemporaries());
    llvm::Type* ptr = b_.getPtrTy();
    std::vector<llvm::Type*> types(sequence_.params.size() + 2, ptr);
    types.insert(types.end(), sequence_.extents.size(), b_.getInt64Ty());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    compute_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, absl::StrCat(sequence_.name, ".sequence"),
                                      context_.module);
    // Nothing but stores and calls, thousands of them.
    compute_->addFnAttr(llvm::Attribute::NoInline);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_.llvm, "entry", compute_));
    if (!sequence_.extents.empty()) TW_RETURN_IF_ERROR(EmitTable());
    for (const SizedSequence::Read& read : sequence_.reads) EmitRead(read);
    EmitFrame();
    EmitCalls(0, sequence_.calls.size(), 0, sequence_.loops.size());
    for (const SizedSequence::Copy& copy : sequence_.copies) {
      b_.CreateMemCpy(compute_->getArg(static_cast<unsigned>(copy.to) + 2), llvm::MaybeAlign(), Address(copy.from),
                      llvm::MaybeAlign(), Number(copy.bytes));
    }
    b_.CreateRet(b_.getInt32(kTwOk));
    const int64_t bytes = AsInt(sequence_.workspace_bytes).value_or(0) + behind_bytes_;
    KeepSharedMemory(context_, sequence_);
    return EmitAbi(context_, Exported(), {compute_, bytes, sequence_.extents});
  }

 private:
  // The file as it is, at the start of a page, so that it is mapped and not copied.
  void EmitConstants() {
    if (sequence_.constants_file.empty()) return;
    const std::string symbol = absl::StrCat(CSymbol(sequence_.name), "_constants");
    context_.module.appendModuleInlineAsm(
        absl::StrCat(".section .rodata.tilewright,\"a\",@progbits\n.balign 4096\n.globl ", symbol, "\n.hidden ", symbol,
                     "\n", symbol, ":\n.incbin \"", InAssembly(sequence_.constants_file), "\"\n.text\n"));
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(sequence_.constants_bytes));
    constants_ =
        new llvm::GlobalVariable(context_.module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
    constants_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }

  // Bytes of the temporaries that stand behind everything else, one call's after the other's.
  absl::Status CountTemporaries() {
    for (const SizedSequence::Call& call : sequence_.calls) {
      std::vector<std::string> functions = {call.function};
      for (const SizedSequence::Version& version : call.versions) functions.push_back(version.function);
      for (const std::string& function : functions) {
        if (context_.module.getFunction(absl::StrCat(function, "_unchecked")) != nullptr) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(sequence_.name, " calls ", function, ", which the module lacks"));
      }
      if (!call.workspace_offset) behind_bytes_ = std::max(behind_bytes_, WorkspaceBytes(call));
    }
    return absl::OkStatus();
  }

  // The numbers of this call, computed before anything else.
  absl::Status EmitTable() {
    const auto add = [&](const Expr& number) {
      if (!AsInt(number)) slots_.SlotOf(number);
    };
    const auto add_argument = [&](const Argument& argument) {
      add(argument.at);
      if (!IsConstant(argument.shape)) slots_.SlotOf(argument.shape);
    };
    const int64_t total = slots_.SlotOf(sequence_.workspace_bytes);
    for (const SizedSequence::Read& read : sequence_.reads) add(read.value);
    for (const SizedSequence::Call& call : sequence_.calls) {
      for (const Argument& argument : call.arguments) add_argument(argument);
      if (call.workspace_offset) add(call.workspace_offset);
      for (const Expr& bytes : call.written) add(bytes);
      for (const SizedSequence::Version& version : call.versions) {
        for (const Argument& argument : version.arguments) add_argument(argument);
        for (const auto& [number, value] : version.when) add(number);
      }
    }
    for (const SizedSequence::Copy& copy : sequence_.copies) {
      add_argument(copy.from);
      add(copy.bytes);
    }
    for (const SizedSequence::Loop& loop : sequence_.loops) {
      if (loop.count) add(loop.count);
      for (const auto& memory : {loop.trips, loop.condition, loop.iteration}) {
        if (memory) add_argument(*memory);
      }
      for (const auto* moves : {&loop.start, &loop.before, &loop.after}) {
        for (const SizedSequence::Move& move : *moves) {
          add_argument(move.from);
          add_argument(move.to);
          add(move.bytes);
        }
      }
    }
    TW_ASSIGN_OR_RETURN(llvm::Function* const sizes, EmitSizes(context_, sequence_, slots_));
    EmitWorkspaceBytes(context_, sequence_, sizes, slots_, total, behind_bytes_);
    table_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), slots_.slots().size()));
    std::vector<llvm::Value*> arguments = {compute_->getArg(0)};
    for (size_t i = 0; i < sequence_.extents.size(); ++i) {
      arguments.push_back(compute_->getArg(static_cast<unsigned>(sequence_.params.size() + 2 + i)));
    }
    arguments.push_back(table_);
    ReturnUnlessOk(b_.CreateCall(sizes, arguments));
    return absl::OkStatus();
  }

  static bool IsConstant(const std::vector<Expr>& numbers) {
    return std::ranges::all_of(numbers, [](const Expr& number) { return AsInt(number).has_value(); });
  }

  llvm::Value* Slot(int64_t slot) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), table_, static_cast<uint64_t>(slot));
  }
  llvm::Value* Number(const Expr& number) {
    if (const auto value = AsInt(number)) return b_.getInt64(static_cast<uint64_t>(*value));
    return b_.CreateLoad(b_.getInt64Ty(), Slot(slots_.SlotOf(number)));
  }

  void ReturnUnlessOk(llvm::Value* code) {
    auto* failed = llvm::BasicBlock::Create(context_.llvm, "failed", compute_);
    auto* next = llvm::BasicBlock::Create(context_.llvm, "next", compute_);
    b_.CreateCondBr(b_.CreateICmpEQ(code, b_.getInt32(kTwOk)), next, failed);
    b_.SetInsertPoint(failed);
    b_.CreateRet(code);
    b_.SetInsertPoint(next);
  }

  void EmitRead(const SizedSequence::Read& read) {
    const Buffer& buffer = sequence_.params[read.param].buffer;
    llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(buffer->dtype.bits()));
    llvm::Value* place = b_.CreateConstInBoundsGEP1_64(type, compute_->getArg(static_cast<unsigned>(read.param) + 2),
                                                       static_cast<uint64_t>(read.element));
    llvm::Value* element = b_.CreateAlignedLoad(type, place, llvm::Align(1));
    element = buffer->dtype.is_uint() ? b_.CreateZExtOrTrunc(element, b_.getInt64Ty())
                                      : b_.CreateSExtOrTrunc(element, b_.getInt64Ty());
    auto* refused = llvm::BasicBlock::Create(context_.llvm, "refused", compute_);
    auto* passed = llvm::BasicBlock::Create(context_.llvm, "passed", compute_);
    llvm::Value* wanted = Number(read.value);
    b_.CreateCondBr(b_.CreateICmpEQ(element, wanted), passed, refused);
    b_.SetInsertPoint(refused);
    EmitMessage(context_, b_, compute_->getArg(0),
                absl::StrCat("element ", read.element, " of ", buffer->name,
                             " is %lld, but what is written has an extent of %lld there"),
                {element, wanted});
    b_.CreateRet(b_.getInt32(kTwErrorShape));
    b_.SetInsertPoint(passed);
  }

  // The call that kernels get: the caller's with a workspace of their own; and room for pointers.
  void EmitFrame() {
    llvm::StructType* type = CallType(context_.llvm);
    call_ = b_.CreateAlloca(type);
    b_.CreateStore(b_.CreateLoad(type, compute_->getArg(0)), call_);
    size_t most = 1;
    for (const SizedSequence::Call& call : sequence_.calls) {
      most = std::max(most, call.arguments.size());
      for (const SizedSequence::Version& version : call.versions) most = std::max(most, version.arguments.size());
    }
    data_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), most));
    if (!sequence_.extents.empty()) shapes_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), most));
  }

  llvm::Value* Offset(llvm::Value* base, const Expr& bytes) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, Number(bytes));
  }

  llvm::GlobalVariable* Table(llvm::Constant* values) {
    return new llvm::GlobalVariable(context_.module, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values,
                                    "table");
  }

  llvm::Value* Address(const Argument& argument) {
    switch (argument.memory) {
      case Memory::kParam:
        return compute_->getArg(static_cast<unsigned>(*AsInt(argument.at)) + 2);
      case Memory::kConstants:
        return Offset(constants_, argument.at);
      case Memory::kWorkspace:
        return Offset(compute_->getArg(1), argument.at);
      case Memory::kScalar:
        break;
    }
    if (const auto value = AsInt(argument.at)) return Table(b_.getInt64(static_cast<uint64_t>(*value)));
    return Slot(slots_.SlotOf(argument.at));
  }

  llvm::Value* Extents(const Argument& argument) {
    if (argument.shape.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (!IsConstant(argument.shape)) return Slot(slots_.SlotOf(argument.shape));
    std::vector<uint64_t> extents;
    for (const Expr& extent : argument.shape) extents.push_back(static_cast<uint64_t>(*AsInt(extent)));
    return Table(llvm::ConstantDataArray::get(context_.llvm, extents));
  }

  // The array of pointers to the extents of each argument.
  llvm::Value* ShapesOf(const std::vector<Argument>& arguments) {
    std::vector<llvm::Value*> shapes;
    std::vector<llvm::Constant*> constants;
    for (const Argument& argument : arguments) {
      shapes.push_back(Extents(argument));
      if (auto* constant = llvm::dyn_cast<llvm::Constant>(shapes.back())) constants.push_back(constant);
    }
    if (constants.size() == shapes.size()) {
      return Table(llvm::ConstantArray::get(llvm::ArrayType::get(b_.getPtrTy(), shapes.size()), constants));
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      b_.CreateStore(shapes[i], b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), shapes_, i));
    }
    return shapes_;
  }

  // The calls and loops of a range.
  void EmitCalls(size_t first, size_t end, size_t loop, size_t loops_end) {
    while (first < end || loop < loops_end) {
      if (loop == loops_end || sequence_.loops[loop].first > first) {
        EmitCall(sequence_.calls[first++]);
        continue;
      }
      EmitLoop(loop);
      first = sequence_.loops[loop].end;
      loop = sequence_.loops[loop].loops_end;
    }
  }

  void EmitLoop(size_t number) {
    const SizedSequence::Loop& loop = sequence_.loops[number];
    llvm::Type* i64 = b_.getInt64Ty();
    EmitMoves(loop.start, nullptr, nullptr);
    llvm::Value* count = b_.getInt64(INT64_MAX);
    if (loop.count) {
      count = Number(loop.count);
    } else if (loop.trips) {
      count = b_.CreateAlignedLoad(i64, Address(*loop.trips), llvm::Align(1));
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* head = llvm::BasicBlock::Create(context_.llvm, "head", compute_);
    auto* body = llvm::BasicBlock::Create(context_.llvm, "body", compute_);
    auto* after = llvm::BasicBlock::Create(context_.llvm, "after", compute_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* iteration = b_.CreatePHI(i64, 2);
    iteration->addIncoming(b_.getInt64(0), before);
    llvm::Value* goes_on = b_.CreateICmpSLT(iteration, count);
    if (loop.condition) {
      llvm::Value* condition = b_.CreateLoad(b_.getInt8Ty(), Address(*loop.condition));
      goes_on = b_.CreateAnd(goes_on, b_.CreateIsNotNull(condition));
    }
    b_.CreateCondBr(goes_on, body, after);
    b_.SetInsertPoint(body);
    if (loop.iteration) b_.CreateStore(iteration, Address(*loop.iteration));
    EmitMoves(loop.before, iteration, count);
    EmitCalls(loop.first, loop.end, number + 1, loop.loops_end);
    EmitMoves(loop.after, iteration, count);
    iteration->addIncoming(b_.CreateAdd(iteration, b_.getInt64(1)), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  void EmitMoves(const std::vector<SizedSequence::Move>& moves, llvm::Value* iteration, llvm::Value* count) {
    using Row = SizedSequence::Move::Row;
    for (const SizedSequence::Move& move : moves) {
      llvm::Value *from = Address(move.from), *to = Address(move.to), *bytes = Number(move.bytes);
      if (move.row != Row::kNone) {
        llvm::Value* row = iteration;
        if (move.reversed) row = b_.CreateSub(b_.CreateSub(count, b_.getInt64(1)), iteration);
        llvm::Value*& side = move.row == Row::kFrom ? from : to;
        side = b_.CreateInBoundsGEP(b_.getInt8Ty(), side, b_.CreateMul(row, bytes));
      }
      b_.CreateMemCpy(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes);
    }
  }

  void EmitCall(const SizedSequence::Call& call) {
    llvm::BasicBlock* const skipped = EmitSkip(call);
    llvm::StructType* type = CallType(context_.llvm);
    llvm::Value* workspace;
    int64_t bytes = call.workspace_bytes;
    // Its temporaries stand behind everything else, as many as it needs: the caller has not compiled it.
    if (!call.workspace_offset) {
      workspace = Offset(compute_->getArg(1), sequence_.workspace_bytes);
      bytes = WorkspaceBytes(call);
    } else {
      workspace = Offset(compute_->getArg(1), call.workspace_offset);
    }
    b_.CreateStore(workspace, b_.CreateStructGEP(type, call_, 1));
    b_.CreateStore(b_.getInt64(static_cast<uint64_t>(bytes)), b_.CreateStructGEP(type, call_, 2));
    auto* done = llvm::BasicBlock::Create(context_.llvm, "done", compute_);
    for (const SizedSequence::Version& version : call.versions) {
      auto* fits = llvm::BasicBlock::Create(context_.llvm, "fits", compute_);
      auto* next = llvm::BasicBlock::Create(context_.llvm, "next", compute_);
      b_.CreateCondBr(Fits(version), fits, next);
      b_.SetInsertPoint(fits);
      CallFunction(version.function, version.arguments);
      b_.CreateBr(done);
      b_.SetInsertPoint(next);
    }
    CallFunction(call.function, call.arguments);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    if (skipped == nullptr) return;
    b_.CreateBr(skipped);
    b_.SetInsertPoint(skipped);
  }

  llvm::Value* Fits(const SizedSequence::Version& version) {
    llvm::Value* fits = b_.getTrue();
    for (const auto& [number, value] : version.when) {
      fits = b_.CreateAnd(fits, b_.CreateICmpEQ(Number(number), b_.getInt64(static_cast<uint64_t>(value))));
    }
    for (const auto& [read, written] : version.shared) {
      fits = b_.CreateAnd(fits, b_.CreateICmpEQ(compute_->getArg(static_cast<unsigned>(read) + 2),
                                                compute_->getArg(static_cast<unsigned>(written) + 2)));
    }
    return fits;
  }

  void CallFunction(const std::string& name, const std::vector<Argument>& arguments) {
    llvm::Function* function = context_.module.getFunction(absl::StrCat(name, "_unchecked"));
    for (size_t i = 0; i < arguments.size(); ++i) {
      b_.CreateStore(Address(arguments[i]), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), data_, i));
    }
    ReturnUnlessOk(b_.CreateCall(function, {call_, data_, ShapesOf(arguments)}));
  }

  // Jumps over the call where it writes nothing, to the block that is returned; null where it always does.
  llvm::BasicBlock* EmitSkip(const SizedSequence::Call& call) {
    llvm::Value* written = nullptr;
    for (const Expr& bytes : call.written) {
      if (AsInt(bytes).value_or(0) > 0) return nullptr;
      llvm::Value* number = Number(bytes);
      written = written == nullptr ? number : b_.CreateOr(written, number);
    }
    if (written == nullptr) return nullptr;
    auto* wanted = llvm::BasicBlock::Create(context_.llvm, "wanted", compute_);
    auto* done = llvm::BasicBlock::Create(context_.llvm, "done", compute_);
    b_.CreateCondBr(b_.CreateIsNotNull(written), wanted, done);
    b_.SetInsertPoint(wanted);
    return done;
  }

  int64_t WorkspaceBytes(const SizedSequence::Call& call) const {
    int64_t bytes = WorkspaceBytes(call.function);
    for (const SizedSequence::Version& version : call.versions) {
      bytes = std::max(bytes, WorkspaceBytes(version.function));
    }
    return bytes;
  }
  // What EmitAbi has written for a function of the module.
  int64_t WorkspaceBytes(const std::string& function) const {
    const llvm::Function* asked = context_.module.getFunction(absl::StrCat(function, "_workspace_bytes"));
    const auto* ret = llvm::cast<llvm::ReturnInst>(asked->getEntryBlock().getTerminator());
    return llvm::cast<llvm::ConstantInt>(ret->getReturnValue())->getSExtValue();
  }

  // What the checks of arguments ask for: parameters, and which of them are written.
  Function Exported() const {
    std::vector<Stmt> stores;
    for (size_t i = sequence_.num_inputs; i < sequence_.params.size(); ++i) {
      const Buffer& buffer = sequence_.params[i].buffer;
      const std::vector<Expr> first(buffer->ndim(), Const(DataType::Int(64), 0));
      stores.push_back(Store(buffer, Const(buffer->dtype, 0), first));
    }
    return Function(
        {.name = sequence_.name, .params = sequence_.params, .body = tilewright::Sequence(std::move(stores))});
  }

  ModuleContext& context_;
  const SizedSequence& sequence_;
  Builder b_;
  llvm::Function* compute_ = nullptr;
  llvm::GlobalVariable* constants_ = nullptr;
  int64_t behind_bytes_ = 0;
  SizeTable slots_;
  llvm::Value *call_ = nullptr, *data_ = nullptr, *shapes_ = nullptr, *table_ = nullptr;
};

}  // namespace

absl::Status EmitSizedSequence(ModuleContext& context, const SizedSequence& sequence) {
  return SequenceEmitter(context, sequence).Emit();
}

absl::Status EmitSequence(ModuleContext& context, const CallSequence& sequence) {
  return EmitSizedSequence(context, Sized(sequence));
}

}  // namespace tilewright::codegen
