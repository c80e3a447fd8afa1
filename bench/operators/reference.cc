#include "bench/operators/reference.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"
#include "bench/operators/product_source.h"
#include "bench/operators/requantization.h"
#include "bench/operators/row_reference.h"

namespace tilewright::bench {
namespace {

// Rows and columns of the kernel's tile. With 512-bit registers of 8 doubles it holds 4 x 2 sums and as many
// magnitudes.
constexpr int64_t kTileRows = 4;
constexpr int64_t kTileColumns = 16;
constexpr int64_t kLeastSample = 65536;

#if defined(__x86_64__)
#define TW_FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TW_FOR_EACH_CPU
#endif

// sums[r][c] = sum over k of rows[r][k] * panel[k][c], and the same of the absolute values.
TW_FOR_EACH_CPU void MultiplyTile(int64_t depth, const double* rows, const double* panel, double* sums,
                                  double* magnitudes) {
  double sum[kTileRows][kTileColumns] = {};
  double magnitude[kTileRows][kTileColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      const double a = rows[r * depth + k];
      const double absolute_a = std::fabs(a);
      for (int64_t c = 0; c < kTileColumns; ++c) {
        const double b = panel[k * kTileColumns + c];
        sum[r][c] += a * b;
        magnitude[r][c] += absolute_a * std::fabs(b);
      }
    }
  }
  std::copy_n(&sum[0][0], kTileRows * kTileColumns, sums);
  std::copy_n(&magnitude[0][0], kTileRows * kTileColumns, magnitudes);
}

// An output row that is to be computed: where it comes from and where in the reference it goes.
struct RowTask {
  int64_t row;
  int64_t index;
};

class ProductReference {
 public:
  ProductReference(const ProductSource& source, const Operands& operands, runtime::ThreadPool& pool)
      : source_(source),
        pool_(pool),
        activation_(ToDoubles(operands.activation)),
        weight_(ToDoubles(operands.weight)),
        panels_((source.columns + kTileColumns - 1) / kTileColumns) {}

  Reference Compute(double most_products) {
    const std::vector<std::vector<RowTask>> tasks = ChooseRows(most_products);
    const size_t elements = reference_.rows.size() * static_cast<size_t>(source_.columns);
    reference_.columns = source_.columns;
    reference_.values.resize(elements);
    reference_.magnitudes.resize(elements);
    for (int64_t group = 0; group < source_.groups; ++group) {
      const std::vector<RowTask>& rows = tasks[static_cast<size_t>(group)];
      if (rows.empty()) continue;
      PackMatrix(group);
      pool_.ParallelFor(static_cast<int64_t>(rows.size()), [&](int64_t begin, int64_t end) {
        // As many rows at a time as fit into a second-level cache next to a panel.
        const int64_t block = std::clamp<int64_t>((1 << 16) / source_.depth, 1, 16) * kTileRows;
        for (int64_t first = begin; first < end; first += block) {
          ComputeRows(group, rows.data() + first, std::min(block, end - first));
        }
      });
    }
    return std::move(reference_);
  }

 private:
  // All rows of every group, or a random choice, in ascending order; also fills `reference_.rows`.
  std::vector<std::vector<RowTask>> ChooseRows(double most_products) {
    std::vector<std::vector<RowTask>> tasks(static_cast<size_t>(source_.groups));
    const int64_t all = source_.groups * source_.rows_per_group;
    const double products_of_a_row = static_cast<double>(source_.depth) * static_cast<double>(source_.columns);
    int64_t wanted = all;
    if (static_cast<double>(all) * products_of_a_row > most_products) {
      wanted = std::min(all, std::max<int64_t>(static_cast<int64_t>(most_products / products_of_a_row),
                                               (kLeastSample + source_.columns - 1) / source_.columns));
    }
    std::mt19937_64 random(/*seed=*/7);
    // Keeps each row with the probability that leaves exactly `wanted` of them.
    for (int64_t row = 0, kept = 0; row < all; ++row) {
      const double probability = static_cast<double>(wanted - kept) / static_cast<double>(all - row);
      if (std::uniform_real_distribution<double>()(random) >= probability) continue;
      const int64_t group = row / source_.rows_per_group, within = row % source_.rows_per_group;
      tasks[static_cast<size_t>(group)].push_back({within, static_cast<int64_t>(reference_.rows.size())});
      reference_.rows.push_back(source_.OutputOffset(group, within));
      ++kept;
    }
    return tasks;
  }

  // The group's matrix as panels [columns / 16][depth][16], filled up with zeroes.
  void PackMatrix(int64_t group) {
    matrix_.assign(static_cast<size_t>(panels_ * source_.depth * kTileColumns), 0.0);
    pool_.ParallelFor(panels_ * source_.depth, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t panel = i / source_.depth, k = i % source_.depth;
        const int64_t columns = std::min(kTileColumns, source_.columns - panel * kTileColumns);
        for (int64_t c = 0; c < columns; ++c) {
          matrix_[static_cast<size_t>(i * kTileColumns + c)] =
              source_.MatrixElement(group, k, panel * kTileColumns + c, weight_.data());
        }
      }
    });
  }

  void ComputeRows(int64_t group, const RowTask* tasks, int64_t count) {
    const int64_t depth = source_.depth;
    const int64_t tiles = (count + kTileRows - 1) / kTileRows;
    std::vector<double> rows(static_cast<size_t>(tiles * kTileRows * depth), 0.0);
    for (int64_t i = 0; i < count; ++i) {
      source_.GatherRow(group, tasks[i].row, activation_.data(), rows.data() + i * depth);
    }
    double sums[kTileRows * kTileColumns], magnitudes[kTileRows * kTileColumns];
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t columns = std::min(kTileColumns, source_.columns - panel * kTileColumns);
      for (int64_t tile = 0; tile < tiles; ++tile) {
        MultiplyTile(depth, rows.data() + tile * kTileRows * depth, matrix_.data() + panel * depth * kTileColumns, sums,
                     magnitudes);
        for (int64_t r = 0; r < std::min(kTileRows, count - tile * kTileRows); ++r) {
          const int64_t offset = tasks[tile * kTileRows + r].index * source_.columns + panel * kTileColumns;
          std::copy_n(sums + r * kTileColumns, columns, reference_.values.data() + offset);
          std::copy_n(magnitudes + r * kTileColumns, columns, reference_.magnitudes.data() + offset);
        }
      }
    }
  }

  const ProductSource& source_;
  runtime::ThreadPool& pool_;
  const std::vector<double> activation_;
  const std::vector<double> weight_;
  const int64_t panels_;
  std::vector<double> matrix_;
  Reference reference_;
};

void Normalize(const Operands& operands, Reference& reference) {
  const std::vector<double> parameters = ToDoubles(operands.parameters);
  const size_t columns = static_cast<size_t>(reference.columns);
  for (size_t i = 0; i < reference.values.size(); ++i) {
    const size_t channel = i % columns;
    const double bias = parameters[channel], scale = parameters[columns + channel];
    const double offset = parameters[2 * columns + channel];
    reference.values[i] = std::max(0.0, (reference.values[i] + bias) * scale + offset);
    reference.magnitudes[i] = (reference.magnitudes[i] + std::fabs(bias)) * std::fabs(scale) + std::fabs(offset);
  }
}

// Half a unit in the last place of a type in which is computed; integers are converted to f32.
double UnitOf(TwDataType type) {
  if (type.code == kTwBfloat) return 0x1p-8;
  return type.code == kTwFloat && type.bits == 16 ? 0x1p-11 : 0x1p-24;
}

// Adds what rounding to 16 bits can do: of the result, and once of what is kept in the output between two passes over a
// row.
void RoundOutput(TwDataType type, Reference& reference) {
  const double rounding = 2 * UnitOf(type);
  // bf16 has the exponents of f32; the least of f16's numbers are 2^-24 apart.
  const double least = type.code == kTwFloat ? 0x1p-24 : 0;
  for (size_t i = 0; i < reference.values.size(); ++i) {
    const double error = reference.tolerance * reference.magnitudes[i];
    const double rounded = error + rounding * (std::fabs(reference.values[i]) + error) + least;
    reference.magnitudes[i] = rounded / (reference.tolerance + rounding);
  }
  reference.tolerance += rounding;
}

// What is rounded at last: the clamped product with the scale, in steps of the output.
void Requantize(const Workload& workload, Reference& reference) {
  const auto [scale, least, greatest] = RequantizationOf(workload);
  const double most = reference.values.empty() ? 0 : *std::ranges::max_element(reference.magnitudes);
  reference.tolerance = kRequantizationTolerance + reference.tolerance * most * static_cast<double>(scale);
  for (double& value : reference.values) {
    value = std::clamp(value * static_cast<double>(scale), static_cast<double>(least), static_cast<double>(greatest));
  }
  std::fill(reference.magnitudes.begin(), reference.magnitudes.end(), 1.0);
}

// Sums of products, and what CBR makes of them.
Reference ComputeProductReference(const Workload& workload, const Operands& operands, runtime::ThreadPool& pool,
                                  double most_products) {
  const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem);
  const bool normalized = conv != nullptr && conv->normalized, exact = IsInteger(workload.dtype);
  const std::unique_ptr<ProductSource> source = MakeProductSource(workload.problem);
  Reference reference = ProductReference(*source, operands, pool).Compute(most_products);
  double roundings = exact ? 0 : static_cast<double>(source->depth) + 2;
  if (normalized) {
    // No partial sum of integers is rounded; the sum may be.
    if (exact) {
      std::ranges::transform(reference.values, reference.magnitudes.begin(), [](double v) { return std::fabs(v); });
    }
    Normalize(operands, reference);
    // Those of the normalization, and of what an implementation does of it ahead of time.
    roundings += exact ? 8 : 5;
  }
  reference.tolerance = SumTolerance(roundings, UnitOf(ProductType(workload.dtype)));
  return reference;
}

}  // namespace

double SumTolerance(double roundings, double unit) { return std::min(roundings, 8 * std::sqrt(roundings)) * unit; }

Reference ComputeReference(const Workload& workload, const Operands& operands, runtime::ThreadPool& pool,
                           double most_products) {
  const auto* rows = std::get_if<RowProblem>(&workload.problem);
  Reference reference = rows != nullptr ? ComputeRowReference(*rows, operands)
                                        : ComputeProductReference(workload, operands, pool, most_products);
  if (rows != nullptr) {
    if (const TwDataType type = OutputType(workload); type.bits == 16) RoundOutput(type, reference);
  }
  if (IsRequantized(workload.dtype)) Requantize(workload, reference);
  return reference;
}

CheckResult Check(const Reference& reference, const runtime::Tensor& output) {
  CheckResult result;
  const std::vector<double> values = ToDoubles(output);
  for (size_t r = 0; r < reference.rows.size(); ++r) {
    for (int64_t c = 0; c < reference.columns; ++c) {
      const size_t index = r * static_cast<size_t>(reference.columns) + static_cast<size_t>(c);
      const size_t offset = static_cast<size_t>(reference.rows[r] + c);
      const double error = std::fabs(values[offset] - reference.values[index]);
      const double magnitude = reference.magnitudes[index];
      // An empty sum must be exactly zero. The comparison is written so that NaN fails it.
      const bool good = error <= reference.tolerance * magnitude;
      const double relative = error == 0 ? 0 : std::isnan(error) || magnitude == 0 ? INFINITY : error / magnitude;
      result.max_relative_error = std::max(result.max_relative_error, relative);
      if (!good && result.failure.empty()) {
        result.failure = absl::StrFormat(
            "element %d of the output is %.9g, the reference %.9g: error %.3g of the sum of absolute products, allowed "
            "%.3g",
            offset, values[offset], reference.values[index], relative, reference.tolerance);
      }
    }
  }
  return result;
}

}  // namespace tilewright::bench
