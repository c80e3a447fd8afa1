#include "bench/requantization.h"

#include <cmath>
#include <variant>

namespace tilewright::bench {
namespace {

// How many products an output sums.
int64_t Depth(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) return matmul->k;
  const auto& conv = std::get<ConvolutionProblem>(problem);
  return conv.in_channels / conv.groups * conv.kernel[0] * conv.kernel[1] * conv.kernel[2];
}

}  // namespace

Requantization RequantizationOf(const Workload& workload) {
  const bool is_signed = OutputType(workload.dtype).code == kTwInt;
  // Root mean squares of numbers that are uniform over u8 and s8.
  const double activation = is_signed ? 74 : 147, weight = 74;
  const double deviation = activation * weight * std::sqrt(static_cast<double>(Depth(workload.problem)));
  // The range reaches to two and a half standard deviations of the sums.
  const int greatest = is_signed ? 127 : 255;
  return {
      .scale = static_cast<float>(greatest / (2.5 * deviation)), .least = is_signed ? -128 : 0, .greatest = greatest};
}

}  // namespace tilewright::bench
