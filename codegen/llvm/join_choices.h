// A choice of a choice that offers the same value twice, as one choice:
//
//   %m = select (fcmp ogt %c, %x), %c, %x
//   %r = select (fcmp ogt %m, %c), %m, %c       ->       %r = select (fcmp ogt %x, %c), %x, %c
//
// The two are equal for all values. LLVM takes %m for %r once it knows that %c is a number, and %m is NaN where %x is.
#pragma once

#include "llvm/IR/PassManager.h"

namespace tilewright::codegen {

struct JoinChoices : llvm::PassInfoMixin<JoinChoices> {
  static constexpr char kName[] = "join-choices";
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace tilewright::codegen
