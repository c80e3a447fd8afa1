#include "bench/operators/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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

}  // namespace

absl::StatusOr<Reference> ComputeReference(const Workload& workload, const Operands& operands) {
  // Integers are not rounded twice.
  const double factor = IsInteger(workload.dtype) && OutputType(workload).code != kTwFloat ? 1 : 2;
  const BenchProgram program = MakeProgram(workload);
  TW_ASSIGN_OR_RETURN(const std::vector<runtime::Tensor> constants, MakeConstants(workload, program, operands));
  const std::vector<NDArray> arguments = Arguments(program, operands, constants);
  TW_ASSIGN_OR_RETURN(const auto results, RunReference(program.function, HostTarget(), arguments));
  const ReferenceResult& output = *results.back();
  const auto* rows = std::get_if<RowProblem>(&workload.problem);
  const bool gelu = rows != nullptr && rows->function == RowFunction::kGelu && !IsRequantized(workload.dtype);
  Reference reference;
  double greatest = 0;
  for (int64_t i = 0; i < output.value.size(); ++i) {
    const double value = output.value.Get(i), error = output.error.size() > 0 ? output.error.Get(i) : 0;
    reference.values.push_back(value);
    reference.errors.push_back(factor * error + (gelu ? kErfError * std::fabs(arguments[0].Get(i)) : 0));
    greatest = std::max(greatest, std::fabs(value));
  }
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
