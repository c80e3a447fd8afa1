// For tests: programs written as text.
//
//   Module module = ParseOrDie(R"(
//       @T.prim_func
//       def main(A: T.Buffer((16,), "float32")):
//           for i in range(16):
//               with T.block("A"):
//                   vi = T.axis.spatial(16, i)
//                   A[vi] = T.float32(0))");
#pragma once

#include <string_view>

#include "ir/function.h"

namespace tilewright {

// The module, or the end of the test with the parser's message.
Module ParseOrDie(std::string_view text);
// The only (or "main") function of the text.
Function ParseFunctionOrDie(std::string_view text);

}  // namespace tilewright
