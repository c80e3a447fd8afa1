#include "tools/arrays/compare_outputs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "autoschedule/measure/reference/run_reference.h"
#include "ir/functor.h"
#include "target/target.h"

namespace tilewright {
namespace {

NDArray ToArray(const Param& param, const interp::Argument& argument) {
  return param.buffer ? argument.array : ScalarArray(param.var.dtype(), argument);
}

}  // namespace

NDArray ScalarArray(DataType type, const interp::Argument& argument) {
  const NDArray scalar(type, {});
  if (type.is_float()) {
    scalar.Set(0, argument.real);
  } else {
    scalar.SetInt(0, argument.integer);
  }
  return scalar;
}

Tolerances::Tolerances(const std::vector<Function>& functions, const std::vector<interp::Argument>& arguments) {
  for (const Function& function : functions) {
    std::vector<NDArray> arrays;
    for (size_t i = 0; i < arguments.size(); ++i) arrays.push_back(ToArray(function->params[i], arguments[i]));
    auto results = RunReference(function, HostTarget(), arrays);
    if (results.ok()) bounds_.push_back(*std::move(results));
    PreOrderExprs(function->body, [&](const Expr& e) {
      const DataType type = e.dtype().element();
      if (type.is_float() && type.bits() < narrowest_.bits()) narrowest_ = type;
      return true;
    });
  }
}

NDArray Tolerances::Allowed(size_t position, const NDArray& expected) const {
  NDArray allowed(DataType::Float(64), expected.shape());
  const double part =
      expected.dtype().is_float() ? std::max(PartOfLargest(expected.dtype()), PartOfLargest(narrowest_)) : 0;
  const double fixed = bounds_.empty() ? part * std::max(1.0, LargestMagnitude(expected)) : 0;
  // Each of the two results has an error of its own.
  const double times = bounds_.size() == 1 ? 2 : 1;
  for (int64_t i = 0; i < allowed.size(); ++i) {
    double sum = fixed;
    for (const auto& bounds : bounds_) {
      const std::optional<ReferenceResult>& result = bounds[position];
      if (result && result->error.size() > 0) sum += times * result->error.Get(i);
    }
    allowed.Set(i, sum);
  }
  return allowed;
}

OutputComparison Tolerances::Compare(size_t position, const std::string& name, const NDArray& result,
                                     const NDArray& expected) const {
  const TensorSpec spec{.name = name, .dtype = result.dtype(), .shape = result.shape()};
  const ReferenceResult reference{.value = expected.dtype().is_float() ? ToDouble(expected) : expected,
                                  .error = Allowed(position, expected)};
  const ResultComparison comparison = CompareResult(spec, result, reference);
  return {.error = MaxError(result, expected), .of_tolerance = comparison.max_error, .failure = comparison.failure};
}

}  // namespace tilewright
