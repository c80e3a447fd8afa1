// Parameters of programs as the protocol describes them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "ir/function.h"

namespace tilewright {

// The parameters of `main`, scalars as tensors without dimensions; an error names one that is a pointer without a
// buffer or has a symbolic extent.
absl::StatusOr<std::vector<TensorSpec>> ParamSpecs(const Function& main);

}  // namespace tilewright
