#include "bench/operators/row_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tilewright::bench {
namespace {

// Scalar operations around the sum.
constexpr double kOtherRoundings = 16;

void Softmax(const double* row, size_t columns, Reference& reference) {
  const double most = *std::max_element(row, row + columns);
  double sum = 0;
  for (size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - most);
  for (size_t c = 0; c < columns; ++c) {
    reference.values.push_back(std::exp(row[c] - most) / sum);
    reference.magnitudes.push_back(reference.values.back());
  }
}

void RowNorm(const double* row, size_t columns, Reference& reference) {
  double sum = 0;
  for (size_t c = 0; c < columns; ++c) sum += row[c] * row[c];
  reference.values.push_back(std::sqrt(sum));
  reference.magnitudes.push_back(reference.values.back());
}

void LayerNorm(const double* row, size_t columns, const std::vector<double>& parameters, Reference& reference) {
  const double count = static_cast<double>(columns);
  double sum = 0, absolute_sum = 0, squares = 0;
  for (size_t c = 0; c < columns; ++c) {
    sum += row[c];
    absolute_sum += std::fabs(row[c]);
  }
  const double mean = sum / count;
  for (size_t c = 0; c < columns; ++c) squares += (row[c] - mean) * (row[c] - mean);
  const double deviation = std::sqrt(squares / count + kLayerNormEpsilon);
  for (size_t c = 0; c < columns; ++c) {
    const double scale = parameters[c] / deviation, shift = parameters[columns + c];
    reference.values.push_back((row[c] - mean) * scale + shift);
    reference.magnitudes.push_back((std::fabs(row[c]) + absolute_sum / count) * std::fabs(scale) + std::fabs(shift));
  }
}

// x * (1 + erf(x / sqrt(2))) / 2. The sum in parentheses has a rounding error of its largest term, however small it is.
void Gelu(const double* row, size_t columns, Reference& reference) {
  for (size_t c = 0; c < columns; ++c) {
    reference.values.push_back(row[c] * (1 + std::erf(row[c] * std::sqrt(0.5))) / 2);
    reference.magnitudes.push_back(std::fabs(row[c]));
  }
}

}  // namespace

Reference ComputeRowReference(const RowProblem& problem, const Operands& operands) {
  const std::vector<double> input = ToDoubles(operands.activation), parameters = ToDoubles(operands.parameters);
  const size_t columns = static_cast<size_t>(problem.columns);
  Reference reference;
  reference.columns = problem.function == RowFunction::kRowNorm ? 1 : problem.columns;
  reference.tolerance = SumTolerance(static_cast<double>(problem.columns)) + kOtherRoundings * 0x1p-24;
  for (int64_t r = 0; r < problem.rows; ++r) {
    const double* row = input.data() + static_cast<size_t>(r) * columns;
    reference.rows.push_back(r * reference.columns);
    switch (problem.function) {
      case RowFunction::kSoftmax:
        Softmax(row, columns, reference);
        break;
      case RowFunction::kRowNorm:
        RowNorm(row, columns, reference);
        break;
      case RowFunction::kLayerNorm:
        LayerNorm(row, columns, parameters, reference);
        break;
      case RowFunction::kGelu:
        Gelu(row, columns, reference);
        break;
    }
  }
  return reference;
}

}  // namespace tilewright::bench
