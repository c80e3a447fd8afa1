// For tests of single passes: programs of plain loops, and what stands in them.
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright::testing {

// The lines of a function's body.
std::string Body(const Function& function);

// Blocks removed, so that passes on plain loops can be tried alone.
Function Opaque(const std::string& text);

}  // namespace tilewright::testing
