#include "bench/peers/worker_request.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/operators/program.h"
#include "bench/operators/requantization.h"
#include "ir/ndarray.h"
#include "ir/script/printer.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;
using runtime::Tensor;

json ProblemJson(const MatmulProblem& p) {
  return {{"kind", "matmul"},
          {"batch", p.batch},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"heads", p.heads},
          {"b_transposed", p.b_transposed},
          {"b_constant", p.b_constant}};
}

json ProblemJson(const ConvolutionProblem& p) {
  const auto spatial = [&](const std::array<int64_t, 3>& extents) {
    return std::vector<int64_t>(extents.end() - p.spatial_rank, extents.end());
  };
  return {{"kind", "convolution"},         {"batch", p.batch},
          {"in_channels", p.in_channels},  {"out_channels", p.out_channels},
          {"in", spatial(p.in)},           {"kernel", spatial(p.kernel)},
          {"padding", spatial(p.padding)}, {"stride", p.stride},
          {"dilation", p.dilation},        {"groups", p.groups},
          {"transposed", p.transposed},    {"normalized", p.normalized}};
}

json ProblemJson(const AttentionProblem& p) {
  return {{"kind", "attention"},  {"batch", p.batch}, {"heads", p.heads}, {"key_heads", p.key_heads},
          {"queries", p.queries}, {"keys", p.keys},   {"dim", p.dim},     {"causal", p.causal},
          {"window", p.window}};
}

json ProblemJson(const RowProblem& p) {
  const char* function = p.function == RowFunction::kSoftmax     ? "softmax"
                         : p.function == RowFunction::kRowNorm   ? "row_norm"
                         : p.function == RowFunction::kLayerNorm ? "layer_norm"
                                                                 : "gelu";
  return {{"kind", "rows"},
          {"function", function},
          {"rows", p.rows},
          {"columns", p.columns},
          {"epsilon", kLayerNormEpsilon}};
}

absl::Status WriteTensor(const Tensor& tensor, const std::string& path) {
  const NDArray array(ProgramType(tensor.dtype()), {tensor.shape().begin(), tensor.shape().end()});
  std::memcpy(array.data(), tensor.data<char>(), static_cast<size_t>(array.bytes()));
  return WriteNpy(array, path);
}

}  // namespace

std::string PrepareRequest(const Workload& workload, const std::string& folder, int num_sets) {
  json request = {{"do", "prepare"},
                  {"op", Name(workload.shape.op)},
                  {"shape", NumbersText(workload.shape)},
                  {"dtype", Name(workload.dtype)},
                  {"problem", std::visit([](const auto& p) { return ProblemJson(p); }, workload.problem)},
                  {"output_shape", ShapesOf(workload.problem).output},
                  {"output_dtype", ProgramType(OutputType(workload)).ToString()},
                  {"folder", folder},
                  {"sets", num_sets},
                  {"program", Print(MakeProgram(workload).function)}};
  if (IsRequantized(workload.dtype)) request["scale"] = RequantizationOf(workload).scale;
  return request.dump();
}

absl::Status WriteOperands(const Operands& operands, const std::string& folder) {
  absl::Status status = WriteTensor(operands.activation, absl::StrCat(folder, "/activation.npy"));
  status.Update(WriteTensor(operands.weight, absl::StrCat(folder, "/weight.npy")));
  status.Update(WriteTensor(operands.parameters, absl::StrCat(folder, "/parameters.npy")));
  return status;
}

absl::Status ReadInto(const std::string& path, Tensor& tensor) {
  const DataType type = ProgramType(tensor.dtype());
  const absl::StatusOr<NDArray> read = ReadNpy(path, type);
  if (!read.ok() && !ReadNpy(path).ok()) return read.status();
  if (!read.ok() || !std::ranges::equal(read->shape(), tensor.shape())) {
    return absl::InvalidArgumentError("the peer's output has another shape or type");
  }
  const NDArray& array = *read;
  std::memcpy(tensor.data<char>(), array.data(), static_cast<size_t>(array.bytes()));
  return absl::OkStatus();
}

}  // namespace tilewright::bench
