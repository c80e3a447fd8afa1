// Compiled functions on the interpreter's arrays.
//
//   TW_ASSIGN_OR_RETURN(const auto code, CompileAndLoad(module, target));
//   TW_RETURN_IF_ERROR(RunOnArrays(*code, module.Main(), {a, b, c}));      // one for each parameter
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "codegen/backend.h"
#include "ir/function.h"
#include "ir/ndarray.h"

namespace tilewright {

// Calls the function, which is one of the code's; scalars are arrays without dimensions. A parameter whose strides
// leave gaps gets memory of its own for the call (ir/strided_array.h). `parallel` may be null.
absl::Status RunOnArrays(const CompiledModule& code, const Function& function, const std::vector<NDArray>& arrays,
                         const TwParallelHook* parallel = nullptr);

}  // namespace tilewright
