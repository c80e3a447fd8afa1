// C's view of compiled functions (docs/abi.md).
#pragma once

#include <string>

#include "absl/types/span.h"
#include "ir/function.h"

namespace tilewright {

// "(A: float32[512, n], n: int32)"; without `variables`, an extent that is not constant is "*".
std::string ParameterList(const Function& function, bool variables);

// A C header that declares the functions of the module, by their `CSymbol` (codegen/abi/c_symbol.h). `extents`: what
// the bytes of a workspace depend on (codegen/sized_sequence.h).
std::string EmitHeader(const Module& module, absl::Span<const Var> extents = {});

}  // namespace tilewright
