#include "bench/peers/fold_normalization.h"

#include "base/status_macros.h"

namespace tilewright::bench {

absl::StatusOr<Operands> FoldNormalization(const Workload& workload, const Operands& operands) {
  TW_ASSIGN_OR_RETURN(Operands folded, MakeOperands(workload));
  const int64_t channels = operands.parameters.shape()[1];
  const float* bias = operands.parameters.data<float>();
  const float *scale = bias + channels, *offset = bias + 2 * channels;
  for (int64_t i = 0; i < operands.weight.num_elements(); ++i) {
    folded.weight.data<float>()[i] = operands.weight.data<float>()[i] * scale[i % channels];
  }
  for (int64_t c = 0; c < channels; ++c) folded.parameters.data<float>()[c] = bias[c] * scale[c] + offset[c];
  return folded;
}

absl::StatusOr<runtime::Tensor> FoldOffset(const runtime::Tensor& parameters) {
  TW_ASSIGN_OR_RETURN(runtime::Tensor folded, Copy(parameters));
  const int64_t channels = folded.shape()[1];
  float* bias = folded.data<float>();
  const float *scale = bias + channels, *offset = bias + 2 * channels;
  for (int64_t c = 0; c < channels; ++c) bias[c] += offset[c] / scale[c];
  return folded;
}

}  // namespace tilewright::bench
