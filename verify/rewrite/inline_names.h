// Values in place of their names, for checks that look at indices.
//
//   at = i * 10 + j                  B[i * 10 + j] = A[i * 10 + j]
//   B[at] = A[at]             ->
//
// A value that is read from memory is put in place of its name where nothing below stores to that memory. Values that
// are large, or that calls with effects compute, keep their names.
#pragma once

#include "ir/function.h"

namespace tilewright {

// The function itself where it has no such names.
Function InlineNames(const Function& function);

}  // namespace tilewright
