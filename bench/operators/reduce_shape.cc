#include "bench/operators/reduce_shape.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_split.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {
namespace {

// What extents keep their remainders by, the gentlest first.
struct Steps {
  int64_t spatial, channels;
};
constexpr Steps kSteps[] = {{8, 128}, {8, 64}, {4, 64}, {4, 32}, {2, 32}, {2, 16}, {1, 8}, {1, 4}};
constexpr int64_t kBatchStep = 2, kRowStep = 8;
// Columns of a row operator for each channel of a product: its work grows by one extent, not by two.
constexpr int64_t kColumnsPerChannel = 8;

int64_t Reduce(int64_t extent, int64_t step) { return extent < step ? extent : step + extent % step; }

// Multiplications and additions; elements of rows.
double Operations(const Problem& problem) {
  if (const auto* rows = std::get_if<RowProblem>(&problem)) {
    return static_cast<double>(rows->rows) * static_cast<double>(rows->columns);
  }
  return Flops(problem);
}

// Heads that share one key head; 1 where each has its own.
int64_t HeadsOfKeyHead(const Problem& problem) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention != nullptr ? attention->heads / attention->key_heads : 1;
}

// The input whose output is reduced, so that the last window ends where it did.
int64_t ReduceSpatial(const ConvolutionProblem& conv, size_t dimension, int64_t step) {
  const int64_t in = conv.in[dimension], out = conv.out[dimension];
  if (conv.transposed) return Reduce(in, step);
  const int64_t reduced = in - conv.stride * (out - Reduce(out, step));
  return reduced < 1 ? in : reduced;
}

Shape ReduceBy(const Shape& shape, const Problem& problem, const Steps& steps) {
  const auto* conv = std::get_if<ConvolutionProblem>(&problem);
  size_t dimension = conv != nullptr ? static_cast<size_t>(3 - conv->spatial_rank) : 0;
  const int64_t groups = conv != nullptr && shape.op != Operator::kDep ? conv->groups : 1;
  const std::vector<std::string> names = absl::StrSplit(std::string(Signature(shape.op)), ',');
  Shape reduced = shape;
  for (size_t i = 0; i < shape.numbers.size(); ++i) {
    const std::string& name = names[i];
    int64_t& number = reduced.numbers[i];
    if (name == "rows") {
      number = Reduce(number, kRowStep);
    } else if (name == "cols") {
      number = Reduce(number, kColumnsPerChannel * steps.channels);
    } else if (i == 0) {
      number = Reduce(number, kBatchStep);
    } else if (name == "heads" || name == "key_heads") {
      const int64_t group = name == "heads" ? HeadsOfKeyHead(problem) : 1;
      number = group * Reduce(number / group, kBatchStep);
    } else if (name == "L" || name == "D" || name == "H" || name == "W") {
      number = ReduceSpatial(*conv, dimension++, steps.spatial);
    } else if (name == "CI" || name == "CO") {
      number = groups * Reduce(number / groups, steps.channels);
    } else if (name == "C" || name == "M" || name == "N" || name == "K" || name == "S" || name == "dim" ||
               name == "queries") {
      number = Reduce(number, steps.channels);
    }
  }
  return reduced;
}

}  // namespace

Shape ReduceShape(const Shape& shape, double most_operations) {
  const auto problem = MakeProblem(shape);
  if (!problem.ok() || Operations(*problem) <= most_operations) return shape;
  Shape reduced = shape;
  for (const Steps& steps : kSteps) {
    reduced = ReduceBy(shape, *problem, steps);
    if (Operations(MakeProblem(reduced).value()) <= most_operations) break;
  }
  return reduced;
}

}  // namespace tilewright::bench
