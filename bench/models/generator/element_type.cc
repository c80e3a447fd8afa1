#include "bench/models/generator/element_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

namespace tilewright::bench {
namespace {

// Rounded to nearest, ties to even; what is too large becomes the greatest number.
uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const bool overflows = (rounded & 0x7f800000) == 0x7f800000 && std::isfinite(value);
  return static_cast<uint16_t>(overflows ? (bits >> 31 << 15) | 0x7f7f : rounded >> 16);
}
uint16_t ToFloat16(float value) {
  constexpr float kGreatest = 65504;
  const auto half = static_cast<_Float16>(std::isfinite(value) ? std::clamp(value, -kGreatest, kGreatest) : value);
  return std::bit_cast<uint16_t>(half);
}

void ConvertTensor(int32_t type, onnx::TensorProto* tensor) {
  if (tensor->data_type() != onnx::TensorProto::FLOAT) return;
  const std::string& from = tensor->raw_data();
  std::string to(from.size() / 2, '\0');
  for (size_t i = 0; i < from.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    const uint16_t narrow = type == onnx::TensorProto::FLOAT16 ? ToFloat16(value) : ToBfloat16(value);
    std::memcpy(to.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
  tensor->set_data_type(type);
  tensor->set_raw_data(std::move(to));
}

void ConvertValue(int32_t type, onnx::ValueInfoProto* value) {
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  if (tensor->elem_type() == onnx::TensorProto::FLOAT) tensor->set_elem_type(type);
}

}  // namespace

void ConvertFloats(int32_t type, onnx::ModelProto* model) {
  onnx::GraphProto& graph = *model->mutable_graph();
  std::set<std::string> scales;  // of a Resize: f32 beside values of any type
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Resize" && node.input_size() > 2) scales.insert(node.input(2));
  }
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (!scales.contains(tensor.name())) ConvertTensor(type, &tensor);
  }
  for (onnx::ValueInfoProto& value : *graph.mutable_input()) ConvertValue(type, &value);
  for (onnx::ValueInfoProto& value : *graph.mutable_output()) ConvertValue(type, &value);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      const bool is_cast = node.op_type() == "Cast" && attribute.name() == "to";
      if (is_cast && attribute.i() == onnx::TensorProto::FLOAT) attribute.set_i(type);
    }
  }
}

}  // namespace tilewright::bench
