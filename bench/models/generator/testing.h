// Generated models in tests: without files, with seeded inputs.
#pragma once

#include <memory>
#include <string>

#include "bench/models/generator/models.h"
#include "graph/executor/onnx_model.h"

namespace tilewright::bench {

inline std::unique_ptr<graph::ModelFile> FileOf(const onnx::ModelProto& proto) {
  auto owner = std::make_shared<std::string>(proto.SerializeAsString());
  const absl::Span<const std::byte> view(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  auto file = graph::ModelFile::FromBytes(owner, view, "");
  return file.ok() ? *std::move(file) : nullptr;
}

// `batch` and `sequence` are the values of symbolic dimensions.
inline graph::OnnxModel::Inputs InputsOf(const GeneratedModel& model, int64_t batch, int64_t sequence) {
  graph::OnnxModel::Inputs inputs;
  uint64_t seed = 0;
  for (const auto& input : model.proto.graph().input()) {
    std::vector<int64_t> shape;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : dim.dim_param() == "batch" ? batch : sequence);
    }
    const auto below = model.below.find(input.name());
    const auto dtype = graph::ElementType(input.type().tensor_type().elem_type());
    NDArray array(dtype.value_or(DataType()), shape);
    FillUniform(array, ++seed, below == model.below.end() ? -1.0 : 0.0,
                below == model.below.end() ? 1.0 : static_cast<double>(below->second));
    inputs[input.name()] = {graph::Item::Kind::kTensor, {array}};
  }
  return inputs;
}

}  // namespace tilewright::bench
