#include "autoschedule/measure/reference/run_on_arrays.h"

#include <cstddef>
#include <cstdint>

#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/runtime/tensor.h"
#include "ir/strided_array.h"

namespace tilewright {

absl::Status RunOnArrays(const CompiledModule& code, const Function& function, const std::vector<NDArray>& arrays,
                         const TwParallelHook* parallel) {
  std::vector<NDArray> memory = arrays;
  std::vector<std::vector<int64_t>> strides(arrays.size());
  std::vector<runtime::Tensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const NDArray& array = arrays[i];
    if (const Buffer& buffer = function->params[i].buffer) strides[i] = StridesWithGaps(buffer, array.shape());
    if (!strides[i].empty()) memory[i] = Spread(array, strides[i]);
    tensors.push_back(runtime::Tensor::Borrow(memory[i].data(), AbiType(array.dtype()), array.shape(), strides[i]));
  }
  std::vector<TwTensor*> args;
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  TW_RETURN_IF_ERROR(code.Run(function->name, args, parallel));
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!strides[i].empty()) Collect(memory[i].data(), strides[i], arrays[i]);
  }
  return absl::OkStatus();
}

}  // namespace tilewright
