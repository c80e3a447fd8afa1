// The right results of a workload, and how far from them a result may be.
//
// Both come from the operator's program, by the same rules that candidates of a search are checked with
// (autoschedule/measure/reference/reference_program.h): it runs in double precision on the inputs as they were rounded
// to the data type, and beside each value runs a bound on the error that any order of its operations may make. Integers
// are exact; what is rounded to integers may be either neighbour where the value before lies too close to tell.
//
// Libraries round where the program does not: weights that a normalization was multiplied into, intermediate results of
// row operators in the type of the output. Twice the bound is allowed of results that are not integers, and that of
// GELU includes the error of an erf by a polynomial.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

struct Reference {
  std::vector<double> values;
  std::vector<double> errors;  // the greatest that is allowed of each element
  // The greatest magnitude of a value, or 1 where all are zero: what errors are reported relative to.
  double magnitude = 1;
  double tolerance = 0;  // the greatest of `errors`, relative to it
};

// `most_scores`: of attention, that are kept at once, each in double precision with its error.
absl::StatusOr<Reference> ComputeReference(const Workload& workload, const Operands& operands,
                                           int64_t most_scores = int64_t{1} << 24);

struct CheckResult {
  // Greatest |y - value| / magnitude; infinite when an element is not a number.
  double max_relative_error = 0;
  // Describes the first element that is off by more than its error; empty when there is none.
  std::string failure;
};
// `slack`: by how much elements may be off beyond their errors.
CheckResult Check(const Reference& reference, const runtime::Tensor& output, double slack = 0);

}  // namespace tilewright::bench
