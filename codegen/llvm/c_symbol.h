// The names under which compiled functions are exported (docs/abi.md).
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright {

// The name that C calls a function by: its own, but tw_main for main, of which every C program has one already.
inline std::string CSymbol(const Function& function) {
  return function->name == "main" ? "tw_main" : std::string(function->name);
}

}  // namespace tilewright
