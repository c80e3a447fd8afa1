// Memory accesses, divisions and loops of a kernel.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "codegen/foreign/ptx/atomics.h"
#include "codegen/foreign/rewrite.h"
#include "codegen/foreign/runtime.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace tilewright::foreign {
namespace {

// Whether a pointer is certainly into a variable of the thread, the kernel's arguments or a constant of the compiler,
// or has been checked already.
bool IsSafe(const llvm::Value* pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(pointer, 0);
  if (llvm::isa<llvm::AllocaInst>(object)) return true;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return argument->getParent()->getName() == kEntry;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(object)) {
    const llvm::Function* callee = call->getCalledFunction();
    return callee != nullptr && (callee->getName() == kAccess || callee->getName() == kAccessRun);
  }
  const auto* constant = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return constant != nullptr && constant->hasPrivateLinkage() && constant->isConstant() && object == pointer;
}

bool IsSamePointer(const llvm::Value* a, const llvm::Value* b) {
  a = a->stripPointerCasts(), b = b->stripPointerCasts();
  const auto* first = llvm::dyn_cast<llvm::Instruction>(a);
  const auto* second = llvm::dyn_cast<llvm::Instruction>(b);
  return a == b || (first != nullptr && second != nullptr && first->isIdenticalTo(second));
}

bool IsArithmetic(const llvm::User* user) {
  if (llvm::isa<llvm::PHINode, llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::SelectInst>(user)) {
    return !user->getType()->isPointerTy();
  }
  // Everything else that kernels call by value is a function of mathematics.
  const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && !callee->getName().starts_with("__tw_") &&
         llvm::none_of(call->args(), [](const llvm::Use& use) { return use->getType()->isPointerTy(); });
}

// Whether what is loaded is only what a compare-and-swap of the same place expects there, and what it computes from
// that: a stale value changes nothing, since the swap fails.
//
//   int old = *p, assumed;
//   do old = atomicCAS(p, assumed = old, f(assumed)); while (assumed != old);
bool IsOnlyExpected(const llvm::LoadInst& load) {
  constexpr unsigned kOperation = 2;  // the argument of __tw_atomic
  std::vector<const llvm::Value*> open = {&load};
  std::set<const llvm::Value*> seen = {&load};
  bool swaps = false;
  while (!open.empty()) {
    const llvm::Value* value = open.back();
    open.pop_back();
    for (const llvm::User* user : value->users()) {
      if (!seen.insert(user).second || llvm::isa<llvm::CmpInst>(user)) continue;
      const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call != nullptr && call->getCalledFunction() != nullptr &&
          call->getCalledFunction()->getName() == "__tw_atomic") {
        const auto* operation = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(kOperation));
        const bool compares =
            operation != nullptr && operation->equalsInt(static_cast<uint64_t>(AtomicOperation::kCompare));
        if (!compares || !IsSamePointer(call->getArgOperand(0), load.getPointerOperand())) return false;
        swaps = true;
      } else if (IsArithmetic(user)) {
        open.push_back(user);
      } else {
        return false;
      }
    }
  }
  return swaps;
}

std::vector<llvm::Instruction*> InstructionsOf(llvm::Function& function) {
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  return instructions;
}

}  // namespace

llvm::Value* Rewriter::Checked(llvm::Instruction& at, llvm::Value* pointer, llvm::Value* bytes, uint64_t alignment,
                               int access) {
  llvm::IRBuilder<> builder(&at);
  llvm::Type *const p = builder.getPtrTy(), *const i32 = builder.getInt32Ty(), *const i64 = builder.getInt64Ty();
  llvm::Value* generic =
      pointer->getType()->getPointerAddressSpace() == 0 ? pointer : builder.CreateAddrSpaceCast(pointer, p);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  const uint64_t size = constant == nullptr ? 0 : constant->getZExtValue();
  llvm::Value* const flags = builder.getInt32(static_cast<uint32_t>(access));
  llvm::Value* const place = PlaceAt(builder, at);
  if (size != 0 && size <= emulator::kMostAccess && (size & (size - 1)) == 0 && alignment >= size) {
    const auto callee = module_.getOrInsertFunction(kAccess, p, p, i64, i32, i32);
    return builder.CreateCall(callee, {generic, bytes, flags, place});
  }
  const auto callee = module_.getOrInsertFunction(kAccessRun, p, p, i64, i32, i32, i32);
  return builder.CreateCall(callee, {generic, builder.CreateZExt(bytes, i64),
                                     builder.getInt32(static_cast<uint32_t>(alignment)), flags, place});
}

void Rewriter::Copies(llvm::Function& function) {
  for (llvm::Instruction* instruction : InstructionsOf(function)) {
    auto* copy = llvm::dyn_cast<llvm::MemIntrinsic>(instruction);
    if (copy == nullptr) continue;
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(copy);
    const uint64_t to = copy->getDestAlign().valueOrOne().value();
    // Both sides are moved by the instruction of the narrower one.
    const uint64_t from = transfer == nullptr ? to : transfer->getSourceAlign().valueOrOne().value();
    if (transfer != nullptr && !IsSafe(transfer->getRawSource())) {
      transfer->setSource(Checked(*copy, transfer->getRawSource(), copy->getLength(), from, 0));
    }
    if (!IsSafe(copy->getRawDest())) copy->setDest(Checked(*copy, copy->getRawDest(), copy->getLength(), to, kWrites));
  }
}

void Rewriter::Accesses(llvm::Function& function) {
  const llvm::DataLayout& layout = module_.getDataLayout();
  for (llvm::Instruction* instruction : InstructionsOf(function)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction);
    auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
    if (load == nullptr && store == nullptr) continue;
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(instruction);
    if (IsSafe(pointer)) continue;
    llvm::IRBuilder<> builder(instruction);
    const uint64_t bytes = layout.getTypeStoreSize(llvm::getLoadStoreType(instruction));
    const uint64_t alignment = llvm::getLoadStoreAlignment(instruction).value();
    const bool is_volatile = load != nullptr ? load->isVolatile() || IsOnlyExpected(*load) : store->isVolatile();
    const int access = (store != nullptr ? kWrites : 0) | (is_volatile ? kIsVolatile : 0);
    llvm::Value* checked = Checked(*instruction, pointer, builder.getInt64(bytes), alignment, access);
    instruction->setOperand(store != nullptr ? 1 : 0, checked);
    if (load == nullptr || !load->isVolatile()) continue;
    builder.SetInsertPoint(instruction->getNextNode());
    builder.CreateCall(module_.getOrInsertFunction(kLetOthersRun, builder.getVoidTy()));
  }
}

void Rewriter::Divisions(llvm::Function& function) {
  for (llvm::Instruction* instruction : InstructionsOf(function)) {
    auto* division = llvm::dyn_cast<llvm::BinaryOperator>(instruction);
    if (division == nullptr || !division->isIntDivRem() || llvm::isa<llvm::Constant>(division->getOperand(1))) continue;
    llvm::Type* type = division->getType();
    if (!type->isIntegerTy()) continue;
    llvm::Value *const zero = llvm::ConstantInt::get(type, 0), *const one = llvm::ConstantInt::get(type, 1);
    llvm::Value* divisor = division->getOperand(1);
    llvm::IRBuilder<> before(division);
    llvm::Value* is_zero = before.CreateICmpEQ(divisor, zero);
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(is_zero, division, false);
    llvm::IRBuilder<> report(then);
    report.CreateCall(module_.getOrInsertFunction(kDivisionByZero, report.getVoidTy(), report.getInt32Ty()),
                      {PlaceAt(report, *division)});
    llvm::IRBuilder<> builder(division);
    const auto opcode = division->getOpcode();
    const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
    llvm::Value* bad = is_zero;
    llvm::Value* minus = nullptr;
    // The least integer divided by -1 ends a process of the host, and wraps on a GPU.
    if (is_signed) {
      minus = builder.CreateICmpEQ(divisor, llvm::ConstantInt::getAllOnesValue(type));
      bad = builder.CreateOr(bad, minus);
    }
    division->setOperand(1, builder.CreateSelect(bad, one, divisor));
    if (minus == nullptr || opcode != llvm::Instruction::SDiv) continue;
    builder.SetInsertPoint(division->getNextNode());
    auto* negated = llvm::BinaryOperator::CreateNeg(division->getOperand(0), "", division->getNextNode());
    auto* result = llvm::SelectInst::Create(minus, negated, division);
    result->insertAfter(negated);
    division->replaceUsesWithIf(result, [&](const llvm::Use& use) { return use.getUser() != result; });
  }
}

void Rewriter::Loops(llvm::Function& function) {
  llvm::PassBuilder passes;
  llvm::FunctionAnalysisManager functions;
  llvm::LoopAnalysisManager loops_manager;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops_manager);
  passes.crossRegisterProxies(loops_manager, functions, components, modules);
  auto& loops = functions.getResult<llvm::LoopAnalysis>(function);
  auto& evolution = functions.getResult<llvm::ScalarEvolutionAnalysis>(function);
  const auto count = [&](llvm::Instruction* at, uint32_t place) {
    llvm::IRBuilder<> builder(at);
    builder.CreateCall(module_.getOrInsertFunction(kTurnOfLoop, builder.getVoidTy(), builder.getInt32Ty()),
                       {builder.getInt32(place)});
  };
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (evolution.getSmallConstantTripCount(loop) != 0) continue;
    count(&*loop->getHeader()->getFirstInsertionPt(), places_.Of(loop->getStartLoc().get()));
  }
  // A function that was not inlined calls itself: each call is a turn, too.
  if (function.getName() == kEntry) return;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const uint32_t place = places_.Of(instruction);
    if (place != 0) return count(&*function.getEntryBlock().getFirstInsertionPt(), place);
  }
}

}  // namespace tilewright::foreign
