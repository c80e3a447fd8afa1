// C's view of compiled functions (docs/abi.md).
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright {

// A C header that declares the functions of the module, by their `CSymbol` (codegen/abi/c_symbol.h).
std::string EmitHeader(const Module& module);

}  // namespace tilewright
