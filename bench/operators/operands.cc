#include "bench/operators/operands.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/float_format.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

// SplitMix64: a counter, scrambled. Good enough for test data and fast enough for gigabytes.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // Uniform in [-1, 1), a multiple of 2^-23.
  float NextFloat() { return static_cast<float>(static_cast<int64_t>(Next()) >> 40) * 0x1p-23f; }

 private:
  uint64_t state_;
};

// `integer_bits`: how many low bits of 8-bit integers are random; the others are zero.
void Fill(Tensor& tensor, Random& random, int integer_bits = 8) {
  const NDArray array = ArrayOf(tensor);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (array.dtype().is_float()) {
      array.Set(i, random.NextFloat());
    } else {
      array.SetInt(i, static_cast<int64_t>(random.Next() >> (64 - integer_bits)));
    }
  }
}

// Parameters of CBR, from numbers in [-1, 1): [bias, scale, offset] x channels.
void ScaleParameters(Tensor& parameters, double unit) {
  const int64_t channels = parameters.shape()[1];
  float *bias = parameters.data<float>(), *scale = bias + channels;
  for (int64_t c = 0; c < channels; ++c) {
    bias[c] *= static_cast<float>(unit);
    scale[c] = (scale[c] + std::copysign(1.0f, scale[c])) / static_cast<float>(2 * unit);
  }
}

void RoundTo(DataType type, Tensor& parameters) {
  for (int64_t i = 0; i < parameters.num_elements(); ++i) {
    float& parameter = parameters.data<float>()[i];
    parameter = static_cast<float>(tilewright::RoundTo(type, parameter));
  }
}

absl::StatusOr<Tensor> Allocate(TwDataType dtype, const std::vector<int64_t>& shape) {
  std::optional<Tensor> tensor = Tensor::Allocate(dtype, shape);
  if (!tensor.has_value()) return absl::ResourceExhaustedError("not enough memory for the tensors");
  return *std::move(tensor);
}

}  // namespace

absl::StatusOr<Operands> MakeOperands(const Workload& workload) {
  const bool attention = std::holds_alternative<AttentionProblem>(workload.problem);
  if (attention && IsInteger(workload.dtype)) {
    return absl::UnimplementedError(absl::StrCat(std::string(Name(workload.shape.op)),
                                                 " is measured in floating-point "
                                                 "types, not in ",
                                                 std::string(Name(workload.dtype))));
  }
  const TensorShapes shapes = ShapesOf(workload.problem);
  absl::StatusOr<Tensor> activation = Allocate(ActivationType(workload.dtype), shapes.activation);
  absl::StatusOr<Tensor> weight = Allocate(WeightType(workload.dtype), shapes.weight);
  if (!activation.ok()) return activation.status();
  absl::StatusOr<Tensor> parameters = Allocate(runtime::kFloat32, shapes.parameters);
  if (!weight.ok()) return weight.status();
  if (!parameters.ok()) return parameters.status();
  Random random(/*seed=*/2023);
  const auto* rows = std::get_if<RowProblem>(&workload.problem);
  Fill(*activation, random, rows != nullptr && rows->function == RowFunction::kSoftmax ? 4 : 8);
  Fill(*weight, random);
  Fill(*parameters, random);
  if (const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem); conv != nullptr && conv->normalized) {
    ScaleParameters(*parameters, IsInteger(workload.dtype) ? SumDeviation(workload) : 1);
    if (workload.dtype == DType::kF16) RoundTo(DataType::Float(16), *parameters);
  }
  if (attention) RoundTo(ProgramType(WeightType(workload.dtype)), *parameters);
  return Operands{
      .activation = *std::move(activation), .weight = *std::move(weight), .parameters = *std::move(parameters)};
}

bool HasWeightsOf8Bits(const Workload& workload) {
  return WeightType(workload.dtype).code == kTwInt && WeightType(workload.dtype).bits == 8 &&
         !std::holds_alternative<RowProblem>(workload.problem);
}

absl::StatusOr<Operands> WithWeightsOf7Bits(const Operands& operands, SevenBits bits) {
  absl::StatusOr<Tensor> activation = Copy(operands.activation), weight = Copy(operands.weight),
                         parameters = Copy(operands.parameters);
  for (const auto* copy : {&activation, &weight, &parameters}) {
    if (!copy->ok()) return copy->status();
  }
  auto* elements = weight->data<int8_t>();
  for (int64_t i = 0; i < weight->num_elements(); ++i) {
    elements[i] = static_cast<int8_t>(bits == SevenBits::kLower ? elements[i] >> 1 : elements[i] & ~1);
  }
  return Operands{
      .activation = *std::move(activation), .weight = *std::move(weight), .parameters = *std::move(parameters)};
}

// Root mean squares of numbers that are uniform over u8 and s8.
constexpr double kUnsignedDeviation = 147, kSignedDeviation = 74;

double ActivationDeviation(DType dtype) {
  return ActivationType(dtype).code == kTwInt ? kSignedDeviation : kUnsignedDeviation;
}

double SumDeviation(const Workload& workload) {
  double outputs = 1;
  for (const int64_t extent : ShapesOf(workload.problem).output) outputs *= static_cast<double>(extent);
  const double terms = Flops(workload.problem) / 2 / outputs;
  return ActivationDeviation(workload.dtype) * kSignedDeviation * std::sqrt(terms);
}

absl::StatusOr<Tensor> MakeOutput(const Workload& workload) {
  return Allocate(OutputType(workload), ShapesOf(workload.problem).output);
}

absl::StatusOr<Tensor> Copy(const Tensor& tensor) {
  TW_ASSIGN_OR_RETURN(Tensor copy,
                      Allocate(tensor.dtype(), std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())));
  std::memcpy(copy.data<char>(), tensor.data<char>(),
              static_cast<size_t>(runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0)));
  return copy;
}

NDArray ArrayOf(const Tensor& tensor) {
  auto* memory = reinterpret_cast<std::byte*>(const_cast<char*>(tensor.data<char>()));
  return NDArray(ProgramType(tensor.dtype()), {tensor.shape().begin(), tensor.shape().end()},
                 std::shared_ptr<std::byte[]>(memory, [](std::byte*) {}));
}

std::vector<double> ToDoubles(const Tensor& tensor) {
  const NDArray array = ArrayOf(tensor);
  std::vector<double> values(static_cast<size_t>(array.size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = array.Get(static_cast<int64_t>(i));
  return values;
}

}  // namespace tilewright::bench
