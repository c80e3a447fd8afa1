// What a sequence computes from extents before its calls.
#include "codegen/llvm/emit_sizes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "codegen/abi/function_abi.h"
#include "ir/script/printer.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Metadata.h"

namespace tilewright::codegen {
namespace {

// In the text of a format.
std::string Plain(const std::string& text) { return absl::StrReplaceAll(text, {{"%", "%%"}}); }

class SizeEmitter {
 public:
  SizeEmitter(ModuleContext& context, const SizedSequence& sequence, const SizeTable& table)
      : context_(context), sequence_(sequence), table_(table), b_(context.llvm) {}

  absl::StatusOr<llvm::Function*> Emit() {
    llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
    std::vector<llvm::Type*> types(sequence_.extents.size() + 2, i64);
    types.front() = types.back() = ptr;
    function_ =
        llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false), llvm::Function::InternalLinkage,
                               absl::StrCat(sequence_.name, ".sizes"), context_.module);
    function_->addFnAttr(llvm::Attribute::NoInline);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_.llvm, "entry", function_));
    bad_ = b_.getFalse();
    for (size_t i = 0; i < sequence_.extents.size(); ++i) {
      const Var& extent = sequence_.extents[i];
      llvm::Value* value = function_->getArg(static_cast<unsigned>(i) + 1);
      known_[extent.get()] = {value, b_.getFalse()};
      Require(b_.CreateICmpSGE(value, b_.getInt64(0)), "an extent is negative: ", {{extent.name(), extent}});
    }
    for (const SizedSequence::Size& size : sequence_.sizes) {
      const Known known = Evaluate(size.value);
      bad_ = b_.CreateOr(bad_, known.bad);
      known_[size.var.get()] = {known.value, b_.getFalse()};
    }
    for (const SizedSequence::Check& check : sequence_.checks) {
      const Known known = Evaluate(check.holds);
      bad_ = b_.CreateOr(bad_, known.bad);
      Require(b_.CreateOr(Holds(known.value), known.bad), check.sentence, check.named);
    }
    std::vector<std::pair<std::string, Expr>> extents;
    for (const Var& extent : sequence_.extents) extents.emplace_back(extent.name(), extent);
    Require(b_.CreateNot(bad_), "the extents are too large, or one that divides is 0: ", extents);
    for (size_t i = 0; i < table_.slots().size(); ++i) {
      llvm::Value* table = function_->getArg(static_cast<unsigned>(types.size()) - 1);
      b_.CreateStore(Evaluate(table_.slots()[i]).value, b_.CreateConstInBoundsGEP1_64(i64, table, i));
    }
    b_.CreateRet(b_.getInt32(kTwOk));
    if (!status_.ok()) return status_;
    return function_;
  }

 private:
  // A value, and whether it is none: an overflow, or a division by zero.
  struct Known {
    llvm::Value *value, *bad;
  };

  void Require(llvm::Value* condition, const std::string& sentence,
               const std::vector<std::pair<std::string, Expr>>& named) {
    std::string format = Plain(sentence);
    std::vector<llvm::Value*> values;
    for (const auto& [name, number] : named) {
      absl::StrAppend(&format, values.empty() ? "" : ", ", Plain(name), " = %lld");
      values.push_back(Evaluate(number).value);
    }
    auto* refused = llvm::BasicBlock::Create(context_.llvm, "refused", function_);
    auto* passed = llvm::BasicBlock::Create(context_.llvm, "passed", function_);
    b_.CreateCondBr(condition, passed, refused);
    b_.SetInsertPoint(refused);
    EmitMessage(context_, b_, function_->getArg(0), format, values);
    b_.CreateRet(b_.getInt32(kTwErrorShape));
    b_.SetInsertPoint(passed);
  }

  llvm::Value* Holds(llvm::Value* number) { return b_.CreateICmpNE(number, b_.getInt64(0)); }
  llvm::Value* Flag(llvm::Value* condition) { return b_.CreateZExt(condition, b_.getInt64Ty()); }

  Known Evaluate(const Expr& e) {
    if (const std::optional<int64_t> value = AsInt(e)) {
      return {b_.getInt64(static_cast<uint64_t>(*value)), b_.getFalse()};
    }
    if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
    const Known known = Compute(e);
    kept_.push_back(e);
    known_[e.get()] = known;
    return known;
  }

  Known Compute(const Expr& e) {
    if (const auto* binary = dyn_cast<BinaryNode>(e)) return Binary(binary);
    if (const auto* cast_node = dyn_cast<CastNode>(e)) return Evaluate(cast_node->value);
    if (const auto* not_node = dyn_cast<NotNode>(e)) {
      const Known a = Evaluate(not_node->a);
      return {Flag(b_.CreateNot(Holds(a.value))), a.bad};
    }
    if (const auto* select = dyn_cast<SelectNode>(e)) {
      const Known condition = Evaluate(select->condition);
      const Known yes = Evaluate(select->true_value), no = Evaluate(select->false_value);
      llvm::Value* chosen = Holds(condition.value);
      return {b_.CreateSelect(chosen, yes.value, no.value),
              b_.CreateOr(condition.bad, b_.CreateSelect(chosen, yes.bad, no.bad))};
    }
    status_.Update(absl::InvalidArgumentError(absl::StrCat(PrintExtent(e), " is not arithmetic of extents")));
    return {b_.getInt64(0), b_.getFalse()};
  }

  Known Checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b, llvm::Value* bad) {
    llvm::Value* both = b_.CreateBinaryIntrinsic(operation, a, b);
    return {b_.CreateExtractValue(both, 0), b_.CreateOr(bad, b_.CreateExtractValue(both, 1))};
  }

  Known Quotient(BinaryOp op, llvm::Value* a, llvm::Value* b, llvm::Value* bad) {
    llvm::Value* zero = b_.getInt64(0);
    llvm::Value* overflows = b_.CreateAnd(b_.CreateICmpEQ(b, b_.getInt64(static_cast<uint64_t>(-1))),
                                          b_.CreateICmpEQ(a, b_.getInt64(static_cast<uint64_t>(INT64_MIN))));
    llvm::Value* none = b_.CreateOr(b_.CreateICmpEQ(b, zero), overflows);
    llvm::Value* divisor = b_.CreateSelect(none, b_.getInt64(1), b);
    llvm::Value *quotient = b_.CreateSDiv(a, divisor), *rest = b_.CreateSRem(a, divisor);
    bad = b_.CreateOr(bad, none);
    if (op == BinaryOp::kDiv) return {quotient, bad};
    if (op == BinaryOp::kMod) return {rest, bad};
    llvm::Value* differ = b_.CreateICmpSLT(b_.CreateXor(a, divisor), zero);
    llvm::Value* down = b_.CreateAnd(b_.CreateICmpNE(rest, zero), differ);
    if (op == BinaryOp::kFloorDiv) return {b_.CreateSub(quotient, Flag(down)), bad};
    return {b_.CreateAdd(rest, b_.CreateSelect(down, divisor, zero)), bad};
  }

  Known Binary(const BinaryNode* op) {
    const Known left = Evaluate(op->a), right = Evaluate(op->b);
    llvm::Value *a = left.value, *b = right.value, *bad = b_.CreateOr(left.bad, right.bad);
    switch (op->op) {
      case BinaryOp::kAdd:
        return Checked(llvm::Intrinsic::sadd_with_overflow, a, b, bad);
      case BinaryOp::kSub:
        return Checked(llvm::Intrinsic::ssub_with_overflow, a, b, bad);
      case BinaryOp::kMul:
        return Checked(llvm::Intrinsic::smul_with_overflow, a, b, bad);
      case BinaryOp::kDiv:
      case BinaryOp::kMod:
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
        return Quotient(op->op, a, b, bad);
      case BinaryOp::kMin:
        return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b), bad};
      case BinaryOp::kMax:
        return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b), bad};
      case BinaryOp::kEQ:
        return {Flag(b_.CreateICmpEQ(a, b)), bad};
      case BinaryOp::kNE:
        return {Flag(b_.CreateICmpNE(a, b)), bad};
      case BinaryOp::kLT:
        return {Flag(b_.CreateICmpSLT(a, b)), bad};
      case BinaryOp::kLE:
        return {Flag(b_.CreateICmpSLE(a, b)), bad};
      case BinaryOp::kGT:
        return {Flag(b_.CreateICmpSGT(a, b)), bad};
      case BinaryOp::kGE:
        return {Flag(b_.CreateICmpSGE(a, b)), bad};
      case BinaryOp::kAnd:
        return {Flag(b_.CreateAnd(Holds(a), Holds(b))), bad};
      case BinaryOp::kOr:
        return {Flag(b_.CreateOr(Holds(a), Holds(b))), bad};
    }
    TW_UNREACHABLE();
  }

  ModuleContext& context_;
  const SizedSequence& sequence_;
  const SizeTable& table_;
  Builder b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* bad_ = nullptr;
  std::unordered_map<const ExprNode*, Known> known_;
  std::vector<Expr> kept_;  // so that no other node gets the address of one that is known
  absl::Status status_;
};

}  // namespace

void KeepSharedMemory(ModuleContext& context, const SizedSequence& sequence) {
  if (sequence.shared.empty()) return;
  Builder b(context.llvm);
  llvm::NamedMDNode* pairs = context.module.getOrInsertNamedMetadata(absl::StrCat(sequence.name, ".shared"));
  const auto number = [&](size_t value) { return llvm::ConstantAsMetadata::get(b.getInt64(value)); };
  for (const auto& [read, written] : sequence.shared) {
    pairs->addOperand(llvm::MDNode::get(context.llvm, {number(read), number(written)}));
  }
}

bool MayShareMemory(const ModuleContext& context, const std::string& function, size_t read, size_t written) {
  const llvm::NamedMDNode* pairs = context.module.getNamedMetadata(absl::StrCat(function, ".shared"));
  if (pairs == nullptr) return false;
  const auto is = [](const llvm::Metadata* kept, size_t number) {
    return llvm::mdconst::extract<llvm::ConstantInt>(kept)->getZExtValue() == number;
  };
  return std::any_of(pairs->op_begin(), pairs->op_end(), [&](const llvm::MDNode* pair) {
    return is(pair->getOperand(0).get(), read) && is(pair->getOperand(1).get(), written);
  });
}

int64_t SizeTable::SlotOf(const Expr& number) {
  const auto [it, fresh] = numbers_.emplace(number.get(), static_cast<int64_t>(slots_.size()));
  if (fresh) slots_.push_back(number);
  return it->second;
}

int64_t SizeTable::SlotOf(const std::vector<Expr>& extents) {
  std::vector<std::pair<const ExprNode*, int64_t>> key;
  for (const Expr& extent : extents) {
    const std::optional<int64_t> value = AsInt(extent);
    key.emplace_back(value ? nullptr : extent.get(), value.value_or(0));
  }
  const auto [it, fresh] = arrays_.emplace(std::move(key), static_cast<int64_t>(slots_.size()));
  if (fresh) slots_.insert(slots_.end(), extents.begin(), extents.end());
  return it->second;
}

absl::StatusOr<llvm::Function*> EmitSizes(ModuleContext& context, const SizedSequence& sequence,
                                          const SizeTable& table) {
  return SizeEmitter(context, sequence, table).Emit();
}

void EmitWorkspaceBytes(ModuleContext& context, const SizedSequence& sequence, llvm::Function* sizes,
                        const SizeTable& table, int64_t total_slot, int64_t behind) {
  Builder b(context.llvm);
  llvm::Type *ptr = b.getPtrTy(), *i64 = b.getInt64Ty();
  std::vector<llvm::Type*> types(sequence.extents.size() + 1, i64);
  types.front() = ptr;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(i64, types, false), llvm::Function::InternalLinkage,
                                          absl::StrCat(sequence.name, ".bytes"), context.module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context.llvm, "entry", function));
  llvm::Value* numbers = b.CreateAlloca(llvm::ArrayType::get(i64, table.slots().size()));
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  arguments.push_back(numbers);
  llvm::Value* code = b.CreateCall(sizes, arguments);
  llvm::Value* total = b.CreateLoad(i64, b.CreateConstInBoundsGEP1_64(i64, numbers, static_cast<uint64_t>(total_slot)));
  llvm::Value* needed = b.CreateAdd(total, b.getInt64(static_cast<uint64_t>(behind)));
  llvm::Value* refused = b.CreateNeg(b.CreateSExt(code, i64));
  b.CreateRet(b.CreateSelect(b.CreateICmpEQ(code, b.getInt32(kTwOk)), needed, refused));
}

}  // namespace tilewright::codegen
