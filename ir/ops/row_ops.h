// Softmax and normalizations over chosen dimensions of a buffer, as blocks of a function.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// exp(x - largest) / sum over `axes`; with `logarithm` its logarithm. f16 and bf16 are computed in f32.
Buffer SoftmaxOver(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, bool logarithm = false);

// (x - mean) / sqrt(variance + epsilon) over `axes`, computed in `type`; mean and inverse deviation have extent one
// there.
struct Normalized {
  Buffer value, mean, inverse_deviation;
};
Normalized Normalize(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, double epsilon, DataType type);

// x / (bias + alpha / size * sum of squares over the `size` channels around each channel)^beta.
Buffer LocalResponseNorm(FunctionBuilder& f, const Buffer& x, int64_t size, double alpha, double beta, double bias);

}  // namespace tilewright::ops
