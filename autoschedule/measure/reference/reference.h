// The right results of a program on seeded inputs, as files, and the comparison with them.
//
// Inputs: floating-point numbers in [-1, 1); integers that say where the program reads in the range that this allows
// (input_ranges.h); all values of other 8-bit integers; of wider integers 0 to 3. A parameter that is written has such
// contents before the call too. For each of those, the folder of a reference holds N.value.npy (double precision, or
// the integer type itself) and, where the result may differ from it, N.error.npy with the greatest absolute error of
// each element; N is the position of the parameter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "ir/ndarray.h"

namespace tilewright {

// The contents of parameter `position` before a call.
NDArray SeededTensor(const TensorSpec& spec, uint64_t seed, size_t position);

// The same numbers in double precision.
NDArray ToDouble(const NDArray& array);

std::string ReferencePath(const std::string& folder, size_t position, std::string_view what);

struct ReferenceResult {
  NDArray value, error;  // `error` has no elements when the result is exact
};
absl::StatusOr<ReferenceResult> ReadReference(const TensorSpec& spec, const std::string& folder, size_t position);

struct ResultComparison {
  double max_error = 0;  // as a part of what is allowed
  std::string failure;   // the first element beyond that; empty when there is none
};
ResultComparison CompareResult(const TensorSpec& spec, const NDArray& result, const ReferenceResult& reference);

}  // namespace tilewright
