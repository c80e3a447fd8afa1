#include "codegen/llvm/join_choices.h"

#include <optional>
#include <utility>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace tilewright::codegen {
namespace {

// `first` where it is greater (less) than `second`, else `second`, also where one of them is NaN.
struct FloatChoice {
  llvm::CmpInst::Predicate predicate;  // FCMP_OGT or FCMP_OLT
  llvm::Value *first, *second;
};

std::optional<FloatChoice> ChoiceOf(llvm::Value* value) {
  auto* select = llvm::dyn_cast<llvm::SelectInst>(value);
  auto* compare = select == nullptr ? nullptr : llvm::dyn_cast<llvm::FCmpInst>(select->getCondition());
  if (compare == nullptr) return std::nullopt;
  llvm::Value *first = select->getTrueValue(), *second = select->getFalseValue();
  llvm::CmpInst::Predicate predicate = compare->getPredicate();
  if (compare->getOperand(0) == second && compare->getOperand(1) == first) {
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  } else if (compare->getOperand(0) != first || compare->getOperand(1) != second) {
    return std::nullopt;
  }
  if (llvm::CmpInst::isUnordered(predicate)) {
    std::swap(first, second);
    predicate = llvm::CmpInst::getSwappedPredicate(llvm::CmpInst::getInversePredicate(predicate));
  }
  const bool chooses = predicate == llvm::CmpInst::FCMP_OGT || predicate == llvm::CmpInst::FCMP_OLT;
  return chooses ? std::optional(FloatChoice{predicate, first, second}) : std::nullopt;
}

}  // namespace

llvm::PreservedAnalyses JoinChoices::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<std::pair<llvm::SelectInst*, FloatChoice>> joined;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto outer = ChoiceOf(&instruction);
    const auto inner = outer ? ChoiceOf(outer->first) : std::nullopt;
    if (!inner || inner->predicate != outer->predicate || inner->first != outer->second) continue;
    joined.push_back({llvm::cast<llvm::SelectInst>(&instruction), {outer->predicate, inner->second, outer->second}});
  }
  for (const auto& [select, choice] : joined) {
    llvm::IRBuilder<> builder(select);
    llvm::Value* compare = builder.CreateFCmp(choice.predicate, choice.first, choice.second);
    select->replaceAllUsesWith(builder.CreateSelect(compare, choice.first, choice.second));
  }
  if (joined.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace tilewright::codegen
