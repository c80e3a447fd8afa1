// Softmax and normalizations over chosen dimensions of a buffer, as blocks of a function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// The place of the row that has the element `at`: without the dimensions `axes` (ascending), which are reduced.
Indices RowOf(const Indices& at, const std::vector<int>& axes);
// What was computed for each row of extents `shape`, as `type`, with extents of one in the dimensions `axes`.
Buffer KeepAxes(FunctionBuilder& f, const std::string& name, const Buffer& rows, std::vector<Expr> shape,
                const std::vector<int>& axes, DataType type);

// exp(x - largest) / sum over `axes`; with `logarithm` its logarithm. The result has the type of x, or `output`. All is
// computed in the wider one of the types, f16 and bf16 in f32.
Buffer SoftmaxOver(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, bool logarithm = false,
                   std::optional<DataType> output = {});

// (x - mean) / sqrt(variance + epsilon) over `axes`, computed in `type`; mean and inverse deviation lack these
// dimensions.
struct Normalized {
  Buffer value, mean, inverse_deviation;
};
Normalized Normalize(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, double epsilon, DataType type);
// x * scale + shift in the type of x, as `type`. `factors`, which broadcast, are the scale and, if given, the shift.
Buffer ScaleAndShift(FunctionBuilder& f, const std::string& name, const Buffer& x, const std::vector<Buffer>& factors,
                     DataType type);

// x / (bias + alpha / size * sum of squares over the `size` channels around each channel)^beta.
Buffer LocalResponseNorm(FunctionBuilder& f, const Buffer& x, int64_t size, double alpha, double beta, double bias);

}  // namespace tilewright::ops
