// The attribute tilewright.constant_params names parameters whose contents are the same in every call.
//
//   T.func_attr({"tilewright.constant_params": [1]})       fine, where parameter 1 is a buffer that is only read
//   T.func_attr({"tilewright.constant_params": [7]})       refused: there is no such parameter
//   T.func_attr({"tilewright.constant_params": [2]})       refused where the function writes parameter 2
//
// Constants are packed once and ahead of time, so a wrong position gives results of an earlier call.
#pragma once

#include <vector>

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// The buffers of the parameters that the attribute names; positions out of range name none.
std::vector<Buffer> ConstantParams(const Function& function);

Diagnostics CheckConstantParams(const Function& function);

}  // namespace tilewright
