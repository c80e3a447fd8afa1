#include "bench/models/generator/onnx_builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tilewright::bench {
namespace {

// Steele's splitmix64: a well-mixed number from a counter.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void SetValue(onnx::ValueInfoProto* value, const std::string& name, int32_t type, const OnnxBuilder::Dims& dims) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto* shape = tensor->mutable_shape();
  for (const OnnxBuilder::Dim& dim : dims) {
    if (const int64_t* extent = std::get_if<int64_t>(&dim)) {
      shape->add_dim()->set_dim_value(*extent);
    } else {
      shape->add_dim()->set_dim_param(std::get<std::string>(dim));
    }
  }
}

}  // namespace

OnnxBuilder::OnnxBuilder(const std::string& name, uint64_t seed, int64_t opset) : seed_(seed) {
  model_.set_ir_version(8);
  model_.set_producer_name("tilewright");
  auto* import = model_.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  graph().set_name(name);
}

std::string OnnxBuilder::Input(const std::string& name, int32_t type, const Dims& dims) {
  SetValue(graph().add_input(), name, type, dims);
  return name;
}

onnx::TensorProto& OnnxBuilder::Initializer(const std::string& name, int32_t type, const std::vector<int64_t>& shape) {
  onnx::TensorProto& tensor = *graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t extent : shape) tensor.add_dims(extent);
  return tensor;
}

std::string OnnxBuilder::Weight(const std::string& name, const std::vector<int64_t>& shape, double magnitude,
                                double center) {
  size_t size = 1;
  for (int64_t extent : shape) size *= static_cast<size_t>(extent);
  std::string bytes(size * sizeof(float), '\0');
  auto* elements = reinterpret_cast<float*>(bytes.data());
  const uint64_t stream = NextStream();
  for (size_t i = 0; i < size; ++i) {
    const double unit = static_cast<double>(Mix(stream + i) >> 11) * 0x1p-52 - 1;  // in [-1, 1)
    elements[i] = static_cast<float>(center + magnitude * unit);
  }
  *Initializer(name, onnx::TensorProto::FLOAT, shape).mutable_raw_data() = std::move(bytes);
  return name;
}

std::string OnnxBuilder::Bytes(const std::string& name, const std::vector<int64_t>& shape) {
  size_t size = 1;
  for (int64_t extent : shape) size *= static_cast<size_t>(extent);
  std::string bytes(size, '\0');
  const uint64_t stream = NextStream();
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(Mix(stream + i) >> 56);
  *Initializer(name, onnx::TensorProto::UINT8, shape).mutable_raw_data() = std::move(bytes);
  return name;
}

uint64_t OnnxBuilder::NextStream() { return Mix(seed_ ^ Mix(++weights_)); }

std::string OnnxBuilder::NextName(const std::string& stem) { return absl::StrCat(scope_, "/", stem, "_", next_++); }

std::string OnnxBuilder::Floats(const std::string& name, const std::vector<int64_t>& shape,
                                const std::vector<float>& values) {
  Initializer(name, onnx::TensorProto::FLOAT, shape).set_raw_data(values.data(), values.size() * sizeof(float));
  return name;
}

std::string OnnxBuilder::Scalar(float value) {
  const std::string name = NextName("Constant");
  Initializer(name, onnx::TensorProto::FLOAT, {}).set_raw_data(&value, sizeof value);
  return name;
}

std::string OnnxBuilder::Int64Scalar(int64_t value) {
  const std::string name = NextName("Constant");
  Initializer(name, onnx::TensorProto::INT64, {}).set_raw_data(&value, sizeof value);
  return name;
}

std::string OnnxBuilder::Int64s(const std::vector<int64_t>& values) {
  const std::string name = NextName("Constant");
  Initializer(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())})
      .set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return name;
}

std::string OnnxBuilder::Node(const std::string& op, const std::vector<std::string>& inputs,
                              const std::vector<Attr>& attrs) {
  return NodeOf("", op, inputs, attrs)[0];
}

std::vector<std::string> OnnxBuilder::NodeOf(const std::string& domain, const std::string& op,
                                             const std::vector<std::string>& inputs, const std::vector<Attr>& attrs,
                                             int count) {
  const auto is_known = [&](const auto& import) { return import.domain() == domain; };
  if (std::ranges::none_of(model_.opset_import(), is_known)) {
    auto* import = model_.add_opset_import();
    import->set_domain(domain);
    import->set_version(1);
  }
  onnx::NodeProto& node = *graph().add_node();
  node.set_domain(domain);
  node.set_op_type(op);
  node.set_name(NextName(op));
  for (const std::string& input : inputs) node.add_input(input);
  std::vector<std::string> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(absl::StrCat(node.name(), "_output_", i));
  for (const std::string& output : outputs) node.add_output(output);
  for (const auto& [name, value] : attrs) {
    onnx::AttributeProto& attr = *node.add_attribute();
    attr.set_name(name);
    if (const int64_t* single = std::get_if<int64_t>(&value)) {
      attr.set_type(onnx::AttributeProto::INT);
      attr.set_i(*single);
    } else if (const float* number = std::get_if<float>(&value)) {
      attr.set_type(onnx::AttributeProto::FLOAT);
      attr.set_f(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      attr.set_type(onnx::AttributeProto::STRING);
      attr.set_s(*text);
    } else {
      attr.set_type(onnx::AttributeProto::INTS);
      for (int64_t integer : std::get<std::vector<int64_t>>(value)) attr.add_ints(integer);
    }
  }
  return outputs;
}

void OnnxBuilder::Output(const std::string& name, const std::string& value, const Dims& dims, int32_t type) {
  for (onnx::NodeProto& node : *graph().mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == value) output = name;
    }
    for (std::string& input : *node.mutable_input()) {
      if (input == value) input = name;
    }
  }
  SetValue(graph().add_output(), name, type, dims);
}

}  // namespace tilewright::bench
