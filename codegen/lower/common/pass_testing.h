// For tests of single passes: programs of plain loops, and what stands in them.
#pragma once

#include <string>

#include "ir/function.h"

namespace tilewright::testing {

// The lines of a function's body.
std::string Body(const Function& function);

// Blocks removed, so that passes on plain loops can be tried alone.
Function Opaque(const std::string& text);

// Both functions write the same to their last parameter, with the bounds of all accesses checked, at all sizes from 0
// to 20 of what is symbolic.
void ExpectSameAtAllSizes(const Function& before, const Function& after);

}  // namespace tilewright::testing
