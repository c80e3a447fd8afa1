// The inputs of one workload: seeded random numbers, rounded to the data type.
//
// Floating-point inputs are uniform in [-1, 1); u8 and s8 take their whole range, so that an implementation whose sums
// saturate is found out. Those of a softmax are 0 to 15, since exp(-255) is none of f32's numbers. CBR's scales are at
// least 1/2 in absolute value; where sums are integers, its biases are measured in the sums' standard deviation and its
// scales are divided by it. The same workload has the same inputs in every run.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"
#include "ir/ndarray.h"

namespace tilewright::bench {

struct Operands {
  runtime::Tensor activation;
  // A single element where the problem has none.
  runtime::Tensor weight;
  runtime::Tensor parameters;  // Always f32; f16's numbers where the program has them in f16.
};

absl::StatusOr<Operands> MakeOperands(const Workload& workload);

// Weights of 8 bits that have seven, as libraries advise whose sums of two products saturate in 16 bits on CPUs without
// VNNI: either the lower seven, or the upper seven for those that halve the weights first.
enum class SevenBits { kLower, kUpper };
inline constexpr const char* kSevenBitsNames[] = {"weights of 7 bits, -64 to 63", "weights of 7 bits, even"};

// Whether the workload has weights that can be made so.
bool HasWeightsOf8Bits(const Workload& workload);
// The operands with such weights: halved, or made even.
absl::StatusOr<Operands> WithWeightsOf7Bits(const Operands& operands, SevenBits bits);

// The root mean square of 8-bit activations.
double ActivationDeviation(DType dtype);
// The standard deviation of sums of products of 8-bit integers.
double SumDeviation(const Workload& workload);

// An output tensor of the workload, filled with zeroes.
absl::StatusOr<runtime::Tensor> MakeOutput(const Workload& workload);

// Compact copies of a tensor, for inputs that rotate.
absl::StatusOr<runtime::Tensor> Copy(const runtime::Tensor& tensor);

// The elements of a compact tensor, which must live as long.
NDArray ArrayOf(const runtime::Tensor& tensor);

// The elements of a compact tensor as double, exactly.
std::vector<double> ToDoubles(const runtime::Tensor& tensor);

}  // namespace tilewright::bench
