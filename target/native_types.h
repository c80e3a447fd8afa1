// Floating-point types that a processor has arithmetic of its own for. Others it converts to float32 for each operation,
// and back.
#pragma once

#include <string_view>

#include "target/target.h"

namespace tilewright {

// Whether a core adds and multiplies numbers of the type ("float16") without conversions.
bool HasArithmeticOf(const Target& target, std::string_view type);

}  // namespace tilewright
