#include "bench/operators/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "autoschedule/measure/reference/run_reference.h"
#include "base/status_macros.h"
#include "bench/operators/program.h"
#include "ir/ndarray.h"
#include "target/target.h"

namespace tilewright::bench {
namespace {

// The error of libraries' erf, which is not relative to it: oneDNN's is a polynomial up to 1.
constexpr double kErfError = 0x1p-21;

// The inputs of the program, and an output of zeros.
std::vector<NDArray> Arguments(const BenchProgram& program, const Operands& operands,
                               const std::vector<runtime::Tensor>& constants) {
  const std::vector<Param>& params = program.function->params;
  std::vector<NDArray> arguments = {ArrayOf(operands.activation).WithShape(ConstantShape(params.front().buffer))};
  for (const runtime::Tensor& constant : constants) arguments.push_back(ArrayOf(constant));
  arguments.emplace_back(params.back().buffer->dtype, ConstantShape(params.back().buffer));
  return arguments;
}

// Values and errors of the outputs, one after the other.
absl::Status AppendReference(const Workload& workload, const Operands& operands, Reference& reference) {
  // Integers are not rounded twice.
  const double factor = IsInteger(workload.dtype) && OutputType(workload).code != kTwFloat ? 1 : 2;
  const BenchProgram program = MakeProgram(workload);
  TW_ASSIGN_OR_RETURN(const std::vector<runtime::Tensor> constants, MakeConstants(workload, program, operands));
  const std::vector<NDArray> arguments = Arguments(program, operands, constants);
  TW_ASSIGN_OR_RETURN(const auto results, RunReference(program.function, HostTarget(), arguments));
  const ReferenceResult& output = *results.back();
  const auto* rows = std::get_if<RowProblem>(&workload.problem);
  const bool gelu = rows != nullptr && rows->function == RowFunction::kGelu && !IsRequantized(workload.dtype);
  for (int64_t i = 0; i < output.value.size(); ++i) {
    const double value = output.value.Get(i), error = output.error.size() > 0 ? output.error.Get(i) : 0;
    reference.values.push_back(value);
    reference.errors.push_back(factor * error + (gelu ? kErfError * std::fabs(arguments[0].Get(i)) : 0));
  }
  return absl::OkStatus();
}

// A copy, aligned as arguments are.
absl::StatusOr<runtime::Tensor> Part(const runtime::Tensor& tensor, int64_t first, const std::vector<int64_t>& shape) {
  char* elements = const_cast<char*>(tensor.data<char>()) + first * tensor.dtype().bits / 8;
  return Copy(runtime::Tensor::Borrow(elements, tensor.dtype(), shape));
}

// Appends the queries [from, to) of `heads` heads from there on, all batches counted, and their key heads.
absl::Status AppendAttentionPart(const Workload& workload, const Operands& operands, int64_t first_head, int64_t heads,
                                 int64_t from, int64_t to, Reference& reference) {
  const auto& p = std::get<AttentionProblem>(workload.problem);
  const int64_t group = p.heads / p.key_heads, first_key_head = first_head / group;
  AttentionProblem part = p;
  part.batch = 1;
  part.heads = heads;
  part.key_heads = std::max<int64_t>(1, heads / group);
  part.queries = to - from;
  // The last query stands at the last key.
  if (p.causal) part.keys -= p.queries - to;
  const Workload of_part = {.shape = workload.shape, .dtype = workload.dtype, .problem = part};
  const TensorShapes shapes = ShapesOf(of_part.problem);
  const int64_t first_key = first_key_head * p.keys * p.dim;
  const int64_t first_query = (first_head * p.queries + from) * p.dim;
  TW_ASSIGN_OR_RETURN(runtime::Tensor queries, Part(operands.activation, first_query, shapes.activation));
  TW_ASSIGN_OR_RETURN(runtime::Tensor keys, Part(operands.weight, first_key, shapes.weight));
  TW_ASSIGN_OR_RETURN(runtime::Tensor values, Part(operands.parameters, first_key, shapes.parameters));
  return AppendReference(of_part,
                         {.activation = std::move(queries), .weight = std::move(keys), .parameters = std::move(values)},
                         reference);
}

// Heads do not depend on each other, nor do queries: as many at once as there is memory for their scores. The first
// queries of a causal problem see the first keys alone.
absl::Status AppendAttention(const Workload& workload, const Operands& operands, int64_t most_scores,
                             Reference& reference) {
  const auto& p = std::get<AttentionProblem>(workload.problem);
  const int64_t group = p.heads / p.key_heads, all_heads = p.batch * p.heads, scores = p.queries * p.keys;
  const bool divides_queries = group * scores > most_scores && (p.causal || p.window == 0);
  const int64_t heads = divides_queries ? 1 : group * std::max<int64_t>(1, most_scores / (group * scores));
  const int64_t queries = divides_queries ? std::max<int64_t>(1, most_scores / p.keys) : p.queries;
  for (int64_t head = 0; head < all_heads; head += heads) {
    for (int64_t from = 0; from < p.queries; from += queries) {
      const int64_t to = std::min(p.queries, from + queries);
      TW_RETURN_IF_ERROR(
          AppendAttentionPart(workload, operands, head, std::min(heads, all_heads - head), from, to, reference));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Reference> ComputeReference(const Workload& workload, const Operands& operands, int64_t most_scores) {
  Reference reference;
  const bool attention = std::holds_alternative<AttentionProblem>(workload.problem);
  TW_RETURN_IF_ERROR(attention ? AppendAttention(workload, operands, most_scores, reference)
                               : AppendReference(workload, operands, reference));
  double greatest = 0;
  for (const double value : reference.values) greatest = std::max(greatest, std::fabs(value));
  if (greatest > 0) reference.magnitude = greatest;
  if (!reference.errors.empty()) {
    reference.tolerance = *std::ranges::max_element(reference.errors) / reference.magnitude;
  }
  return reference;
}

CheckResult Check(const Reference& reference, const runtime::Tensor& output, double slack) {
  CheckResult result;
  const std::vector<double> values = ToDoubles(output);
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::fabs(values[i] - reference.values[i]);
    // The comparison is written so that NaN fails it.
    const bool good = error <= reference.errors[i] + slack;
    const double relative = std::isnan(error) ? INFINITY : error / reference.magnitude;
    result.max_relative_error = std::max(result.max_relative_error, relative);
    if (!good && result.failure.empty()) {
      result.failure =
          absl::StrFormat("element %d of the output is %.9g, the reference %.9g, off by %.3g, allowed %.3g", i,
                          values[i], reference.values[i], error, reference.errors[i] + slack);
    }
  }
  return result;
}

}  // namespace tilewright::bench
