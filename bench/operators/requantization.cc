#include "bench/operators/requantization.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "bench/operators/operands.h"

namespace tilewright::bench {
namespace {

// What few outputs of the seeded inputs exceed before they are requantized.
double OutputRange(const Workload& workload) {
  if (const auto* rows = std::get_if<RowProblem>(&workload.problem)) {
    const double columns = static_cast<double>(rows->columns);
    switch (rows->function) {
      case RowFunction::kSoftmax:
        return std::min(1.0, 10 / columns);
      case RowFunction::kRowNorm:
        return 1.1 * ActivationDeviation(workload.dtype) * std::sqrt(columns);
      case RowFunction::kLayerNorm:
        return 2;
      case RowFunction::kGelu:
        return ActivationType(workload.dtype).code == kTwInt ? 127 : 255;
    }
  }
  const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem);
  const bool normalized = conv != nullptr && conv->normalized;
  return normalized ? 2.5 : 2.5 * SumDeviation(workload);
}

}  // namespace

Requantization RequantizationOf(const Workload& workload) {
  const bool is_signed = OutputType(workload).code == kTwInt;
  const int greatest = is_signed ? 127 : 255;
  return {.scale = static_cast<float>(greatest / OutputRange(workload)),
          .least = is_signed ? -128 : 0,
          .greatest = greatest};
}

}  // namespace tilewright::bench
