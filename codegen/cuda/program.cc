#include "codegen/cuda/program.h"

#include <algorithm>

namespace tilewright::cuda {

int MapTypeOf(DataType type) {
  if (type.code() == TypeCode::kBFloat) return 9;
  if (type.is_float() && type.bits() > 8) return type.bits() == 16 ? 6 : 7;
  if (type.bits() == 32) return type.is_int() ? 3 : 2;
  return type.bits() == 16 ? 1 : 0;
}

int SwizzleOf(int span) {
  constexpr int kSpans[] = {0, 32, 64, 128};
  return static_cast<int>(std::ranges::find(kSpans, span) - kSpans);
}

std::vector<bool> WrittenParams(const DeviceFunction& function) {
  std::vector<bool> written(function.params.size());
  for (size_t i = 0; i < written.size(); ++i) {
    const Buffer& buffer = function.params[i].buffer;
    if (!buffer) continue;
    for (const Kernel& kernel : function.kernels) {
      for (const KernelParam& param : kernel.params) {
        if (param.written && param.buffer->data.same_as(buffer->data)) written[i] = true;
      }
    }
  }
  return written;
}

}  // namespace tilewright::cuda
