// Functions of vectors that LLVM calls in the place of the C library's when it turns a loop into one of vectors:
//
//   for i in range(64):
//       B[i] = T.sin(A[i])        sinf, one by one      ->      tw.vector.sin of 16 elements
//
// A call says which functions there are for how many elements (the "vector-function-abi-variant" of LLVM). They are
// declared before optimization; those that are called afterwards get their code. Private to codegen/llvm.
#pragma once

#include <functional>
#include <string_view>

#include "codegen/llvm/types.h"
#include "llvm/IR/Module.h"
#include "target/target.h"

namespace tilewright::codegen {

// Declares the variants of `function`, as the program names it, for vectors of the target. `call`: of f32 values.
void DeclareVariants(std::string_view function, llvm::CallInst* call, const Target& target);

// Writes the code of the variants that are called and removes the others.
using EmitVariant = std::function<llvm::Value*(llvm::StringRef function, Builder&, llvm::ArrayRef<llvm::Value*> args)>;
void DefineVariants(llvm::Module& module, const EmitVariant& emit);

}  // namespace tilewright::codegen
