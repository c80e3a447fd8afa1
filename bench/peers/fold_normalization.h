// The normalization of CBR done ahead of time, as far as its type allows.
#pragma once

#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

// In f32. (sum + bias) * scale + offset is a convolution with scaled weights and one bias, all of them constant. Gives
// the operands with such weights; the first row of the parameters is that bias.
absl::StatusOr<Operands> FoldNormalization(const Workload& workload, const Operands& operands);

// In other types, whose weights cannot be scaled without rounding them: (sum + bias) * scale + offset is
// (sum + b) * scale. Gives the parameters with b = bias + offset / scale in their first row.
absl::StatusOr<runtime::Tensor> FoldOffset(const runtime::Tensor& parameters);

}  // namespace tilewright::bench
