// The functions of a library once more, under the calling convention of TVM-FFI for generated code. Private to
// codegen/llvm.
//
//   int __tvm_ffi_NAME(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
//
// makes a TwTensor of each argument, calls NAME, which checks them, and turns its message into a raised error. Python,
// Rust and C++ that speak TVM-FFI call a compiled library so, on their own tensors. The function that raises errors is
// a weak reference: the library depends on nothing, and where it is missing the result alone says that the call failed.
#pragma once

#include <vector>

#include "codegen/llvm/emitter.h"

namespace tilewright::codegen {

// For functions whose exported functions the module has already.
void EmitTvmFfi(ModuleContext& context, const std::vector<Function>& functions);

}  // namespace tilewright::codegen
