// The inputs of one workload: seeded random numbers, rounded to the data type.
//
// Floating-point inputs are uniform in [-1, 1); u8 and s8 take their whole range, so that an implementation whose sums
// saturate is found out. The same workload has the same inputs in every run.
#ifndef TILEWRIGHT_BENCH_OPERANDS_H_
#define TILEWRIGHT_BENCH_OPERANDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

struct Operands {
  runtime::Tensor activation;
  // A single element where the problem has none.
  runtime::Tensor weight;
  runtime::Tensor parameters;  // Always f32.
};

absl::StatusOr<Operands> MakeOperands(const Workload& workload);

// An output tensor of the workload, filled with zeroes.
absl::StatusOr<runtime::Tensor> MakeOutput(const Workload& workload);

// Compact copies of a tensor, for inputs that rotate.
absl::StatusOr<runtime::Tensor> Copy(const runtime::Tensor& tensor);

// The elements of a compact tensor as double, exactly.
std::vector<double> ToDoubles(const runtime::Tensor& tensor);

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_OPERANDS_H_
