// The kernels of a module, and the function through which one of them is called. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/foreign/prepare.h"
#include "llvm/IR/Module.h"

namespace tilewright::foreign {

// "ns::gemm<128, 64>" of "void ns::gemm<128, 64>(float const*, int)".
std::string NameOfFunction(const std::string& symbol);

absl::StatusOr<llvm::Function*> FindKernel(llvm::Module& module, const std::string& kernel);

// The numbers of __cluster_dims__; none where the kernel does not have it. Removes what says so.
std::vector<int64_t> TakeClusterDims(const llvm::Function& kernel);

// What the kernel's parameters are; an error for those that a GPU would not take from a host.
absl::StatusOr<std::vector<KernelParameter>> ParametersOf(const llvm::Function& kernel);

// Makes kEntry, which calls the kernel with the parameters at the offsets that ParametersOf gave.
llvm::Function* MakeEntry(llvm::Function& kernel, const std::vector<KernelParameter>& parameters);

}  // namespace tilewright::foreign
