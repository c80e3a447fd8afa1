// Comparison of the outputs of functions that compute the same in different orders.
//
//   const Tolerances tolerances({original, rewritten}, arguments);
//   ... run both on copies of the arguments ...
//   OutputComparison c = tolerances.Compare(2, "C", result, expected);
//
// Each element may differ by what rounding can do to it in both functions, as bounded by
// autoschedule/measure/reference/reference_program.h: the terms of a sum and their magnitudes count. Integers that
// depend on no rounding are equal. Where no function has such a bound (calls of other libraries, vector operations), by
// a part of the largest magnitude of the output, at least 1: 1e-10, 1e-4 and 5e-2 where 64, 32 and fewer bits are the
// narrowest floating-point type that the functions compute in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "autoschedule/measure/reference/reference.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"

namespace tilewright {

struct OutputComparison {
  ArrayError error;
  double of_tolerance = 0;  // the greatest error of an element as a part of what that element may differ by
  std::string failure;      // the first element beyond that; empty when there is none
};

// A scalar argument as an array without dimensions.
NDArray ScalarArray(DataType type, const interp::Argument& argument);

class Tolerances {
 public:
  // `arguments` as before the call. Functions that are given once count for both.
  Tolerances(const std::vector<Function>& functions, const std::vector<interp::Argument>& arguments);

  // Compares the parameter at `position`, called `name`.
  OutputComparison Compare(size_t position, const std::string& name, const NDArray& result,
                           const NDArray& expected) const;

 private:
  // By how much each element may differ.
  NDArray Allowed(size_t position, const NDArray& expected) const;

  DataType narrowest_ = DataType::Float(64);  // type that the functions compute in
  // The bounds of each function that has some, by parameter.
  std::vector<std::vector<std::optional<ReferenceResult>>> bounds_;
};

}  // namespace tilewright
