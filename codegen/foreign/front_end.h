// The front end of clang as a reader of CUDA C++: the text as for a GPU, with our own headers in place of CUDA's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/foreign/kernel.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tilewright::foreign {

// The folder of our headers; lines in it are not lines of the text.
inline constexpr char kHeaderFolder[] = "tilewright-cuda-headers";

// Errors are the compiler's, with file and line.
absl::StatusOr<std::unique_ptr<llvm::Module>> ReadCuda(const std::string& path, const ForeignSource& options,
                                                       llvm::LLVMContext& context);

}  // namespace tilewright::foreign
