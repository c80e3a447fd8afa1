#include "autoschedule/measure/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Results that small may be anything near zero: products of numbers in [-1, 1) that are no longer normal.
double Negligible(DataType type) {
  if (!type.is_float() || type.bits() == 64) return 0;
  return type.code() == TypeCode::kFloat && type.bits() == 16 ? 0x1p-22 : type.bits() == 8 ? 0x1p-6 : 1e-36;
}

// `get(i)` is element i of the result.
template <class Get>
ResultComparison Compare(const TensorSpec& spec, const ReferenceResult& reference, int64_t size, Get get) {
  ResultComparison comparison;
  const bool exact = reference.error.size() == 0;
  const double negligible = Negligible(spec.dtype);
  const auto* allowed_errors = static_cast<const double*>(reference.error.data());
  const bool is_double = reference.value.dtype().is_float();
  const auto* doubles = static_cast<const double*>(reference.value.data());
  for (int64_t i = 0; i < size; ++i) {
    const double actual = get(i), expected = is_double ? doubles[i] : reference.value.Get(i);
    if (actual == expected || (std::isnan(actual) && std::isnan(expected))) continue;
    const double error = std::fabs(actual - expected);
    const double allowed = (exact ? 0 : allowed_errors[i]) + negligible;
    // A bound that is not a number: the error of an operand reaches to where a function has no value.
    if (error <= allowed || std::isnan(allowed)) {
      comparison.max_error = std::max(comparison.max_error, std::isnan(allowed) ? 0 : error / allowed);
      continue;
    }
    comparison.max_error = std::numeric_limits<double>::infinity();
    comparison.failure = absl::StrFormat("element %d of %s is %.9g, the reference %.9g, allowed error %.3g", i,
                                         spec.name, actual, expected, allowed);
    break;
  }
  return comparison;
}

}  // namespace

NDArray SeededTensor(const TensorSpec& spec, uint64_t seed, size_t position) {
  NDArray array(spec.dtype, spec.shape);
  const uint64_t own_seed = seed * 1'000'003 + position;
  if (spec.range) {
    FillRange(array, *spec.range, own_seed);
  } else if (spec.dtype.is_float()) {
    FillUniform(array, own_seed);
  } else if (spec.dtype.is_bool()) {
    FillUniform(array, own_seed, 0, 2);
  } else if (spec.dtype.bits() <= 8) {
    FillUniform(array, own_seed, static_cast<double>(MinValue(spec.dtype)),
                static_cast<double>(MaxValue(spec.dtype)) + 1);
  } else {
    FillUniform(array, own_seed, 0, 4);
  }
  return array;
}

NDArray ToDouble(const NDArray& array) {
  NDArray doubles(DataType::Float(64), array.shape());
  for (int64_t i = 0; i < array.size(); ++i) doubles.Set(i, array.Get(i));
  return doubles;
}

std::string ReferencePath(const std::string& folder, size_t position, std::string_view what) {
  return absl::StrCat(folder, "/", position, ".", std::string(what), ".npy");
}

absl::StatusOr<ReferenceResult> ReadReference(const TensorSpec& spec, const std::string& folder, size_t position) {
  ReferenceResult result;
  const DataType type = spec.dtype.is_float() ? DataType::Float(64) : spec.dtype;
  TW_ASSIGN_OR_RETURN(auto value, ReadNpy(ReferencePath(folder, position, "value"), type));
  result.value = std::move(value);
  const std::string error_path = ReferencePath(folder, position, "error");
  if (std::filesystem::exists(error_path)) {
    TW_ASSIGN_OR_RETURN(auto error, ReadNpy(error_path, DataType::Float(64)));
    result.error = std::move(error);
  }
  if (result.value.shape() != spec.shape || (result.error.size() > 0 && result.error.shape() != spec.shape)) {
    return absl::InvalidArgumentError(absl::StrCat("the reference of ", spec.name, " has another shape"));
  }
  return result;
}

ResultComparison CompareResult(const TensorSpec& spec, const NDArray& result, const ReferenceResult& reference) {
  if (spec.dtype == DataType::Float(32)) {
    const auto* floats = static_cast<const float*>(result.data());
    return Compare(spec, reference, result.size(), [&](int64_t i) { return static_cast<double>(floats[i]); });
  }
  return Compare(spec, reference, result.size(), [&](int64_t i) { return result.Get(i); });
}

}  // namespace tilewright
