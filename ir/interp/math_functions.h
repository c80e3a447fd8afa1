// Functions of floats by the names that programs call them by: FindMath1("log")(0.0) is minus infinity. In double
// precision; a narrower result is rounded from it.
#pragma once

#include <string_view>

namespace tilewright::interp {

using Math1Function = double (*)(double);
using Math2Function = double (*)(double, double);

// Null for other names.
Math1Function FindMath1(std::string_view name);
Math2Function FindMath2(std::string_view name);

}  // namespace tilewright::interp
