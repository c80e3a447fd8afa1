#include "autoschedule/measure/reference/run_reference.h"

#include <cstddef>
#include <cstdint>

#include "autoschedule/measure/reference/reference_program.h"
#include "codegen/abi/abi_type.h"
#include "codegen/llvm/jit.h"
#include "codegen/runtime/tensor.h"
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

}  // namespace

absl::StatusOr<std::vector<std::optional<ReferenceResult>>> RunReference(const Function& main, const Target& target,
                                                                         const std::vector<NDArray>& arguments) {
  const auto program = MakeReferenceProgram(main, ExtentsOf(main, arguments));
  if (!program.ok()) return program.status();
  const auto code = CompileToJit(Module(program->function), target);
  if (!code.ok()) return code.status();

  std::vector<NDArray> arrays(program->function->params.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    NDArray& value = arrays[static_cast<size_t>(program->value[i])];
    value = arguments[i];
    if (program->written[i]) value = value.dtype().is_float() ? ToDouble(value) : value.Clone();
    if (program->error[i] >= 0) {
      arrays[static_cast<size_t>(program->error[i])] = NDArray(DataType::Float(64), arguments[i].shape());
    }
  }
  std::vector<runtime::Tensor> tensors;
  for (const NDArray& array : arrays) {
    tensors.push_back(runtime::Tensor::Borrow(array.data(), AbiType(array.dtype()), array.shape()));
  }
  std::vector<TwTensor*> args;
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  if (absl::Status status = (*code)->Run(program->function->name, args, &hook); !status.ok()) return status;

  std::vector<std::optional<ReferenceResult>> results(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!program->written[i]) continue;
    results[i] = ReferenceResult{.value = arrays[static_cast<size_t>(program->value[i])], .error = {}};
    if (program->error[i] >= 0) results[i]->error = arrays[static_cast<size_t>(program->error[i])];
  }
  return results;
}

}  // namespace tilewright
