// Functions whose output is made of another's, element by element.
#pragma once

#include <functional>
#include <string>

#include "ir/function.h"

namespace tilewright::ops {

// The function, whose last parameter is its output, with `value` of each element as the output, computed by a block
// `name`. The elements become an intermediate buffer:
//
//   main(A, B, C: float32):  C = ...          ->    main(A, B, name: T):  C = ...; name = value(C)
Function WithElementwiseOutput(const Function& function, const std::string& name,
                               const std::function<Expr(const Expr&)>& value);

// The output in another type: products of 16-bit floats whose sums have 32 bits and are stored in 16, for example.
Function WithConvertedOutput(const Function& function, DataType to);

}  // namespace tilewright::ops
