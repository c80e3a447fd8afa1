#include "autoschedule/measure/reference/run_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "autoschedule/measure/reference/reference_program.h"
#include "autoschedule/measure/reference/run_on_arrays.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright {
namespace {

// What the arguments say of the function's symbolic extents.
VarMap ExtentsOf(const Function& function, const std::vector<NDArray>& arguments) {
  VarMap extents;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Param& param = function->params[i];
    if (!param.buffer) {
      if (param.var.dtype().is_integer()) extents[param.var] = Const(param.var.dtype(), arguments[i].GetInt(0));
      continue;
    }
    for (size_t d = 0; d < param.buffer->shape.size(); ++d) {
      const auto* var = dyn_cast<VarNode>(param.buffer->shape[d]);
      if (var != nullptr) extents[Var(var)] = Const(var->dtype(), arguments[i].shape()[d]);
    }
  }
  return extents;
}

absl::Status Call(const CompiledModule& code, const Function& function, const std::vector<NDArray>& arrays) {
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  return RunOnArrays(code, function, arrays, &hook);
}

}  // namespace

double PartOfLargest(DataType type) {
  if (!type.is_float()) return 0;
  return type.bits() == 64 ? 1e-10 : type.bits() == 32 ? 1e-4 : 5e-2;
}

double LargestMagnitude(const NDArray& array) {
  double largest = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    if (const double magnitude = std::fabs(array.Get(i)); std::isfinite(magnitude)) {
      largest = std::max(largest, magnitude);
    }
  }
  return largest;
}

absl::StatusOr<std::vector<std::optional<ReferenceResult>>> RunAsItStands(const Function& main, const Target& target,
                                                                          const std::vector<NDArray>& arguments) {
  TW_ASSIGN_OR_RETURN(const auto code, CompileAndLoad(Module(main), target));
  const std::vector<bool> written = WrittenParams(main);
  std::vector<NDArray> arrays = arguments;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (written[i]) arrays[i] = arrays[i].Clone();
  }
  TW_RETURN_IF_ERROR(Call(*code, main, arrays));
  std::vector<std::optional<ReferenceResult>> results(arguments.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!written[i]) continue;
    const DataType type = arrays[i].dtype();
    results[i] = ReferenceResult{.value = type.is_float() ? ToDouble(arrays[i]) : arrays[i], .error = {}};
    if (!type.is_float()) continue;
    const double allowed = PartOfLargest(type) * std::max(1.0, LargestMagnitude(arrays[i]));
    results[i]->error = NDArray(DataType::Float(64), arrays[i].shape());
    for (int64_t k = 0; k < arrays[i].size(); ++k) results[i]->error.Set(k, allowed);
  }
  return results;
}

absl::StatusOr<std::vector<std::optional<ReferenceResult>>> RunReference(const Function& main, const Target& target,
                                                                         const std::vector<NDArray>& arguments) {
  TW_ASSIGN_OR_RETURN(const auto program, MakeReferenceProgram(main, ExtentsOf(main, arguments)));
  TW_ASSIGN_OR_RETURN(const auto code, CompileAndLoad(Module(program.function), target));

  std::vector<NDArray> arrays(program.function->params.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    NDArray& value = arrays[static_cast<size_t>(program.value[i])];
    value = arguments[i];
    if (program.written[i]) value = value.dtype().is_float() ? ToDouble(value) : value.Clone();
    if (program.error[i] >= 0) {
      arrays[static_cast<size_t>(program.error[i])] = NDArray(DataType::Float(64), arguments[i].shape());
    }
  }
  TW_RETURN_IF_ERROR(Call(*code, program.function, arrays));

  std::vector<std::optional<ReferenceResult>> results(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!program.written[i]) continue;
    results[i] = ReferenceResult{.value = arrays[static_cast<size_t>(program.value[i])], .error = {}};
    if (program.error[i] >= 0) results[i]->error = arrays[static_cast<size_t>(program.error[i])];
  }
  return results;
}

}  // namespace tilewright
