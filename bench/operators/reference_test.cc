#include "bench/operators/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/operators/requantization.h"
#include "bench/operators/shapes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/float_format.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

Workload MakeWorkload(std::string_view shape_text, DType dtype) {
  const Shape shape = ParseShapes(shape_text)->front();
  return {.shape = shape, .dtype = dtype, .problem = MakeProblem(shape).value()};
}

// out[n, y, x, o], written from the definition: every input position gives to the outputs that it reaches.
std::vector<double> NaiveConvolution(const ConvolutionProblem& p, const Operands& operands) {
  const std::vector<double> in = ToDoubles(operands.activation), weight = ToDoubles(operands.weight);
  const int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  std::vector<double> out(static_cast<size_t>(p.batch * p.out[0] * p.out[1] * p.out[2] * p.out_channels), 0.0);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t y = 0; y < p.in[1]; ++y)
      for (int64_t x = 0; x < p.in[2]; ++x)
        for (int64_t ky = 0; ky < p.kernel[1]; ++ky)
          for (int64_t kx = 0; kx < p.kernel[2]; ++kx) {
            int64_t oy = y + p.padding[1] - ky * p.dilation, ox = x + p.padding[2] - kx * p.dilation;
            if (p.transposed) {
              oy = y * p.stride - p.padding[1] + ky;
              ox = x * p.stride - p.padding[2] + kx;
            } else if (oy % p.stride != 0 || ox % p.stride != 0) {
              continue;
            } else {
              oy /= p.stride;
              ox /= p.stride;
            }
            if (oy < 0 || oy >= p.out[1] || ox < 0 || ox >= p.out[2]) continue;
            for (int64_t o = 0; o < p.out_channels; ++o)
              for (int64_t i = 0; i < group_in; ++i)
                out[static_cast<size_t>(((n * p.out[1] + oy) * p.out[2] + ox) * p.out_channels + o)] +=
                    in[static_cast<size_t>(((n * p.in[1] + y) * p.in[2] + x) * p.in_channels +
                                           o / group_out * group_in + i)] *
                    weight[static_cast<size_t>(((ky * p.kernel[2] + kx) * group_in + i) * p.out_channels + o)];
          }
  return out;
}

class ConvolutionReference : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvolutionReference, AgreesWithNaiveLoops) {
  const Workload workload = MakeWorkload(GetParam(), DType::kF32);
  const Operands operands = MakeOperands(workload).value();
  const Reference reference = ComputeReference(workload, operands).value();
  const std::vector<double> expected = NaiveConvolution(std::get<ConvolutionProblem>(workload.problem), operands);
  EXPECT_THAT(reference.values, ::testing::Pointwise(::testing::DoubleNear(1e-12), expected));
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionReference,
                         ::testing::Values("C2D:2,7,9,5,17,3,1,1", "C2D:1,11,8,3,4,5,2,2", "C1D:2,13,3,5,3,2,1",
                                           "DEP:1,6,7,5,3,2,1", "GRP:1,6,5,6,9,3,1,1,3", "DIL:1,11,12,2,3,3,2,1,2",
                                           "T2D:2,4,3,5,6,4,2,1", "T2D:1,5,5,2,3,3,3,0"));

TEST(Reference, MatmulAgreesWithNaiveLoops) {
  for (const char* shape : {"GMM:2,5,19,7", "GMMt:2,5,19,7", "TBG:2,5,3,7"}) {
    const Workload workload = MakeWorkload(shape, DType::kBf16);
    const auto& p = std::get<MatmulProblem>(workload.problem);
    const Operands operands = MakeOperands(workload).value();
    const std::vector<double> a = ToDoubles(operands.activation), b = ToDoubles(operands.weight);
    const std::vector<double> out = ComputeReference(workload, operands)->values;
    for (int64_t g = 0; g < p.batch; ++g)
      for (int64_t m = 0; m < p.m; ++m)
        for (int64_t n = 0; n < p.n; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < p.k; ++k) {
            const int64_t image = g / p.heads, head = g % p.heads;
            const int64_t a_offset = ((image * p.m + m) * p.heads + head) * p.k + k;
            const int64_t b_offset =
                p.b_transposed ? ((image * p.n + n) * p.heads + head) * p.k + k : (g * p.k + k) * p.n + n;
            sum += a[static_cast<size_t>(a_offset)] * b[static_cast<size_t>(b_offset)];
          }
          ASSERT_NEAR(out[static_cast<size_t>((g * p.m + m) * p.n + n)], sum, 1e-12) << shape;
        }
  }
}

// One row of attention after the other; shapes with more scores than are kept at once are taken apart.
void ExpectAttention(const char* shape, DType dtype, double most_error, int64_t most_scores = 1 << 20) {
  const Workload workload = MakeWorkload(shape, dtype);
  const auto& p = std::get<AttentionProblem>(workload.problem);
  const Operands operands = MakeOperands(workload).value();
  const std::vector<double> query = ToDoubles(operands.activation), key = ToDoubles(operands.weight),
                            value = ToDoubles(operands.parameters),
                            out = ComputeReference(workload, operands, most_scores)->values;
  ASSERT_EQ(out.size(), query.size()) << shape;
  for (int64_t row = 0; row < p.batch * p.heads * p.queries; row += 1 + p.queries / 7) {
    const int64_t keys = row / p.queries / (p.heads / p.key_heads) * p.keys;
    const int64_t position = row % p.queries + p.keys - p.queries;
    double total = 0;
    std::vector<double> sum(static_cast<size_t>(p.dim));
    for (int64_t j = 0; j < p.keys; ++j) {
      const int64_t distance = p.causal ? position - j : std::abs(position - j);
      if ((p.causal && distance < 0) || (p.window > 0 && distance >= p.window)) continue;
      double score = 0;
      for (int64_t d = 0; d < p.dim; ++d) {
        score += query[static_cast<size_t>(row * p.dim + d)] * key[static_cast<size_t>((keys + j) * p.dim + d)];
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(p.dim)));
      total += weight;
      for (size_t d = 0; d < sum.size(); ++d) sum[d] += weight * value[static_cast<size_t>((keys + j) * p.dim) + d];
    }
    for (size_t d = 0; d < sum.size(); ++d) {
      ASSERT_NEAR(out[static_cast<size_t>(row * p.dim) + d], sum[d] / total, most_error) << shape << ", row " << row;
    }
  }
}

TEST(Reference, AttentionAgreesWithNaiveLoops) {
  for (const char* shape : {"ATT:2,3,7,5,0", "ATT:1,4,9,3,1,0,2", "ATT:2,4,11,3,1,3,1,4", "ATT:1,2,8,3,0,5,0,2"}) {
    ExpectAttention(shape, DType::kF32, 1e-7);
    ExpectAttention(shape, DType::kBf16, 0.01);
  }
}

TEST(Reference, LongAttentionIsTakenApart) {
  for (const char* shape : {"ATT:1,1,50,3,1", "ATT:1,4,29,3,0,0,2", "ATT:1,2,29,3,0,0,0,3", "ATT:1,2,31,3,1,20,1"}) {
    ExpectAttention(shape, DType::kF32, 1e-7, 500);
  }
}

// What an implementation that sums in f32 gives.
Tensor SumInFloat(const Workload& workload, const Operands& operands) {
  Tensor output = MakeOutput(workload).value();
  const auto& p = std::get<MatmulProblem>(workload.problem);
  const float *a = operands.activation.data<float>(), *b = operands.weight.data<float>();
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < p.k; ++k) sum += a[m * p.k + k] * b[k * p.n + n];
      output.data<float>()[m * p.n + n] = sum;
    }
  return output;
}

TEST(Check, AcceptsSumsInFloat) {
  for (const char* shape : {"GMM:1,40,40,1", "GMM:1,40,40,7", "GMM:1,40,40,3000"}) {
    const Workload workload = MakeWorkload(shape, DType::kF32);
    const Operands operands = MakeOperands(workload).value();
    const Reference reference = ComputeReference(workload, operands).value();
    const CheckResult result = Check(reference, SumInFloat(workload, operands));
    EXPECT_EQ(result.failure, "") << shape;
    EXPECT_LE(result.max_relative_error, reference.tolerance);
  }
}

TEST(Check, FindsOneWrongElement) {
  const Workload workload = MakeWorkload("GMM:1,40,40,3000", DType::kF32);
  const Operands operands = MakeOperands(workload).value();
  const Reference reference = ComputeReference(workload, operands).value();
  Tensor output = SumInFloat(workload, operands);
  const float right = output.data<float>()[777];
  // One product of 3000 missing.
  output.data<float>()[777] =
      right - operands.activation.data<float>()[19 * 3000] * operands.weight.data<float>()[777 % 40];
  const CheckResult missing = Check(reference, output);
  EXPECT_GT(missing.max_relative_error, reference.tolerance);
  EXPECT_THAT(missing.failure, ::testing::StartsWith("element 777 of the output is "));
  output.data<float>()[777] = NAN;
  EXPECT_THAT(Check(reference, output).failure, ::testing::StartsWith("element 777 of the output is nan"));
  EXPECT_EQ(Check(reference, output).max_relative_error, INFINITY);
  output.data<float>()[777] = right;
  EXPECT_EQ(Check(reference, output).failure, "");
}

TEST(Check, IntegersAreExact) {
  const Workload workload = MakeWorkload("GMM:1,3,5,1000", DType::kInt8);
  const Operands operands = MakeOperands(workload).value();
  const Reference reference = ComputeReference(workload, operands).value();
  Tensor output = MakeOutput(workload).value();
  for (int64_t m = 0; m < 3; ++m)
    for (int64_t n = 0; n < 5; ++n)
      for (int64_t k = 0; k < 1000; ++k)
        output.data<int32_t>()[m * 5 + n] +=
            operands.activation.data<uint8_t>()[m * 1000 + k] * operands.weight.data<int8_t>()[k * 5 + n];
  EXPECT_EQ(Check(reference, output).failure, "");
  EXPECT_EQ(Check(reference, output).max_relative_error, 0);
  output.data<int32_t>()[4] += 1;
  EXPECT_THAT(Check(reference, output).failure, ::testing::StartsWith("element 4 of the output is "));
}

// What an implementation gives that rounds correctly.
Tensor Requantized(const Workload& workload, const Reference& reference) {
  Tensor output = MakeOutput(workload).value();
  for (size_t i = 0; i < reference.values.size(); ++i) {
    output.data<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int>(std::nearbyint(reference.values[i])));
  }
  return output;
}

TEST(Check, RequantizedIntegersAreRoundedToNearest) {
  for (const DType dtype : {DType::kInt8Q, DType::kS8S8Q}) {
    const Workload workload = MakeWorkload("C2D:1,9,9,32,16,3,1,1", dtype);
    const Operands operands = MakeOperands(workload).value();
    const Reference reference = ComputeReference(workload, operands).value();
    const Requantization how = RequantizationOf(workload);
    // The whole range is used, and some sums are clamped at either end.
    EXPECT_EQ(*std::ranges::min_element(reference.values), how.least);
    EXPECT_EQ(*std::ranges::max_element(reference.values), how.greatest);

    Tensor output = Requantized(workload, reference);
    EXPECT_EQ(Check(reference, output).failure, "");
    output.data<uint8_t>()[77] ^= 1;
    EXPECT_THAT(Check(reference, output).failure, ::testing::StartsWith("element 77 of the output is "));
    output.data<uint8_t>()[77] ^= 1;
  }
}

TEST(Reference, ConvolutionWithNormalization) {
  const Workload workload = MakeWorkload("CBR:1,6,7,5,9,3,1,1", DType::kF32);
  const auto& problem = std::get<ConvolutionProblem>(workload.problem);
  const Operands operands = MakeOperands(workload).value();
  const std::vector<double> sums = NaiveConvolution(problem, operands), p = ToDoubles(operands.parameters);
  const std::vector<double> values = ComputeReference(workload, operands)->values;
  int zeroes = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t c = i % 9;
    ASSERT_NEAR(values[i], std::max(0.0, (sums[i] + p[c]) * p[9 + c] + p[18 + c]), 1e-12);
    zeroes += values[i] == 0;
  }
  EXPECT_GT(zeroes, 0);
  EXPECT_LT(zeroes, static_cast<int>(sums.size()));
}

// Two rows of three numbers.
Reference RowReference(const char* shape) {
  const Workload workload = MakeWorkload(shape, DType::kF32);
  Operands operands = MakeOperands(workload).value();
  const float rows[6] = {0, 0, 0, 1, 2, 3};
  std::copy_n(rows, 6, operands.activation.data<float>());
  const float parameters[6] = {1, 2, -1, 0, 10, 0};
  if (operands.parameters.num_elements() == 6) std::copy_n(parameters, 6, operands.parameters.data<float>());
  return ComputeReference(workload, operands).value();
}

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Reference, Softmax) {
  EXPECT_THAT(RowReference("SFM:2,3").values,
              ElementsAre(DoubleNear(1.0 / 3, 1e-14), DoubleNear(1.0 / 3, 1e-14), DoubleNear(1.0 / 3, 1e-14),
                          DoubleNear(0.09003057317038046, 1e-14), DoubleNear(0.24472847105479767, 1e-14),
                          DoubleNear(0.6652409557748219, 1e-14)));
}

TEST(Reference, RowNorm) {
  EXPECT_THAT(RowReference("NRM:2,3").values, ElementsAre(0, DoubleNear(std::sqrt(14.0), 1e-14)));
}

TEST(Reference, LayerNorm) {
  // The second row has mean 2 and variance 2/3; the program's epsilon is a number of f32.
  const double unit = 1 / std::sqrt(2.0 / 3 + static_cast<double>(1e-5f));
  EXPECT_THAT(RowReference("LN:2,3").values,
              ElementsAre(0, 10, 0, DoubleNear(-unit, 1e-12), 10, DoubleNear(-unit, 1e-12)));
}

// What an implementation that sums in f16 gives, and one whose sums leave out their last term.
TEST(Check, SumsInFloat16) {
  constexpr DataType kHalf = DataType::Float(16);
  for (const char* shape : {"GMM:1,8,9,4", "GMM:1,80,90,40"}) {
    const Workload workload = MakeWorkload(shape, DType::kF16);
    const auto& p = std::get<MatmulProblem>(workload.problem);
    const Operands operands = MakeOperands(workload).value();
    const std::vector<double> a = ToDoubles(operands.activation), b = ToDoubles(operands.weight);
    const Reference reference = ComputeReference(workload, operands).value();
    for (const int64_t left_out : {0, 1}) {
      Tensor output = MakeOutput(workload).value();
      for (int64_t m = 0; m < p.m; ++m)
        for (int64_t n = 0; n < p.n; ++n) {
          double sum = 0;
          for (int64_t k = 0; k + left_out < p.k; ++k) {
            sum = RoundTo(kHalf, sum + a[static_cast<size_t>(m * p.k + k)] * b[static_cast<size_t>(k * p.n + n)]);
          }
          output.data<uint16_t>()[m * p.n + n] = static_cast<uint16_t>(ToBits(kHalf, sum));
        }
      const CheckResult result = Check(reference, output);
      EXPECT_EQ(result.failure.empty(), left_out == 0) << shape << ": " << result.failure;
    }
  }
}

// Sums in f32 that are rounded once are right, sums in f16 are not.
TEST(Check, SumsInFloat32AreStoredInFloat16) {
  constexpr DataType kHalf = DataType::Float(16);
  const Workload workload = MakeWorkload("GMM:1,80,90,400", DType::kF16H);
  const auto& p = std::get<MatmulProblem>(workload.problem);
  const Operands operands = MakeOperands(workload).value();
  const std::vector<double> a = ToDoubles(operands.activation), b = ToDoubles(operands.weight);
  const Reference reference = ComputeReference(workload, operands).value();
  for (const bool in_half : {false, true}) {
    Tensor output = MakeOutput(workload).value();
    for (int64_t m = 0; m < p.m; ++m)
      for (int64_t n = 0; n < p.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += a[static_cast<size_t>(m * p.k + k)] * b[static_cast<size_t>(k * p.n + n)];
          if (in_half) sum = RoundTo(kHalf, sum);
        }
        output.data<uint16_t>()[m * p.n + n] = static_cast<uint16_t>(ToBits(kHalf, sum));
      }
    const CheckResult result = Check(reference, output);
    EXPECT_EQ(result.failure.empty(), !in_half) << result.failure;
  }
}

TEST(Reference, Gelu) {
  // The root of 1/2 is a number of f32 in the program.
  const double phi1 = 0.8413447460685429, phi2 = 0.9772498680518208, phi3 = 0.9986501019683699;
  EXPECT_THAT(RowReference("GELU:2,3").values,
              ElementsAre(0, 0, 0, DoubleNear(phi1, 1e-7), DoubleNear(2 * phi2, 1e-7), DoubleNear(3 * phi3, 1e-7)));
}

// What CBR makes of exact sums of integers in f32; without the biases where `biased` is false.
Tensor NormalizeInFloat(const Workload& workload, const Operands& operands, bool biased) {
  const std::vector<double> sums = NaiveConvolution(std::get<ConvolutionProblem>(workload.problem), operands);
  const int64_t channels = operands.parameters.shape()[1];
  const float* bias = operands.parameters.data<float>();
  const float *scale = bias + channels, *offset = bias + 2 * channels;
  Tensor output = MakeOutput(workload).value();
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t c = i % static_cast<size_t>(channels);
    const float sum = static_cast<float>(sums[i]) + (biased ? bias[c] : 0);
    output.data<float>()[i] = std::max(0.0f, sum * scale[c] + offset[c]);
  }
  return output;
}

TEST(Check, NormalizedSumsOfIntegersAreFloats) {
  for (const DType dtype : {DType::kInt8, DType::kS8S8}) {
    const Workload workload = MakeWorkload("CBR:1,6,7,50,9,3,1,1", dtype);
    const Operands operands = MakeOperands(workload).value();
    const Reference reference = ComputeReference(workload, operands).value();
    EXPECT_EQ(Check(reference, NormalizeInFloat(workload, operands, /*biased=*/true)).failure, "");
    EXPECT_NE(Check(reference, NormalizeInFloat(workload, operands, /*biased=*/false)).failure, "");
    // Neither all clamped nor far from the offsets.
    const auto [least, most] = std::ranges::minmax(reference.values);
    EXPECT_EQ(least, 0);
    EXPECT_GT(most, 1);
    EXPECT_LT(most, 10);
  }
}

TEST(Check, RowsInBfloat16MayBeRounded) {
  for (const char* shape : {"SFM:3,50", "NRM:30,50", "LN:3,50"}) {
    const Workload workload = MakeWorkload(shape, DType::kBf16);
    const Operands operands = MakeOperands(workload).value();
    const Reference reference = ComputeReference(workload, operands).value();
    Tensor output = MakeOutput(workload).value();
    for (size_t i = 0; i < reference.values.size(); ++i) {
      // Half of the steps of f32 below bf16's: rounds to nearest.
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(reference.values[i]));
      output.data<uint16_t>()[i] = static_cast<uint16_t>((bits + 0x8000) >> 16);
    }
    EXPECT_EQ(Check(reference, output).failure, "") << shape;
    output.data<uint16_t>()[7] = static_cast<uint16_t>(output.data<uint16_t>()[7] + 3);
    EXPECT_THAT(Check(reference, output).failure, ::testing::StartsWith("element 7 of the output is ")) << shape;
  }
}

TEST(Check, WhatIsComputedInFloatIsRequantized) {
  for (const DType dtype : {DType::kInt8Q, DType::kS8S8Q}) {
    for (const char* shape : {"SFM:9,50", "NRM:200,50", "LN:9,50", "CBR:1,6,7,50,9,3,1,1"}) {
      const Workload workload = MakeWorkload(shape, dtype);
      const Reference reference = ComputeReference(workload, MakeOperands(workload).value()).value();
      const int greatest = RequantizationOf(workload).greatest;
      EXPECT_GT(*std::ranges::max_element(reference.values), 0.8 * greatest) << shape;
      Tensor output = Requantized(workload, reference);
      EXPECT_EQ(Check(reference, output).failure, "") << shape;
      output.data<uint8_t>()[77] = static_cast<uint8_t>(output.data<uint8_t>()[77] + 2);
      EXPECT_THAT(Check(reference, output).failure, ::testing::StartsWith("element 77 of the output is ")) << shape;
    }
  }
}

}  // namespace
}  // namespace tilewright::bench
