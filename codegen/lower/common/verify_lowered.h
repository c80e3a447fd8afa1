// Checks that a function is in the form that the back ends take (pipeline.h): the last step of lowering.
#pragma once

#include "absl/status/status.h"
#include "ir/function.h"

namespace tilewright {

// Names what is left over: "loop i is still of kind vectorized".
absl::Status VerifyLowered(const Function& function);

}  // namespace tilewright
