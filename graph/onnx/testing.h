// Models written in tests.
//
//   ModelWriter m(17);
//   m.Input("x", onnx::TensorProto::FLOAT, {"n", 4}); m.Output("y");
//   m.Node("Relu", {"x"}, {"y"});
//   auto file = m.File();
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/onnx/model_file.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

class ModelWriter {
 public:
  using Dim = std::variant<int, const char*>;

  explicit ModelWriter(int64_t opset) {
    model_.set_ir_version(8);
    Import("", opset);
    model_.mutable_graph()->set_name("test");
  }

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  void Import(const std::string& domain, int64_t opset) {
    auto* import = model_.add_opset_import();
    import->set_domain(domain);
    import->set_version(opset);
  }
  void Input(const std::string& name, int32_t type, const std::vector<Dim>& dims) {
    AddValue(graph().add_input(), name, type, dims);
  }
  void Output(const std::string& name) { graph().add_output()->set_name(name); }
  onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return AddNode(graph().add_node(), op, inputs, outputs);
  }
  static onnx::NodeProto* AddNode(onnx::NodeProto* node, const std::string& op, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs) {
    node->set_op_type(op);
    node->set_name("node_" + outputs[0]);
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return node;
  }
  static void AddValue(onnx::ValueInfoProto* value, const std::string& name, int32_t type,
                       const std::vector<Dim>& dims) {
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const Dim& dim : dims) {
      auto* d = tensor->mutable_shape()->add_dim();
      if (const int* number = std::get_if<int>(&dim)) {
        d->set_dim_value(*number);
      } else {
        d->set_dim_param(std::get<const char*>(dim));
      }
    }
  }
  static void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
  }

  onnx::TensorProto* Floats(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& data) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(data.data(), data.size() * sizeof(float));
    return tensor;
  }
  onnx::TensorProto* Int64s(const std::string& name, const std::vector<int64_t>& data, bool scalar = false) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    if (!scalar) tensor->add_dims(static_cast<int64_t>(data.size()));
    for (int64_t value : data) tensor->add_int64_data(value);
    return tensor;
  }

  std::string Bytes() const { return model_.SerializeAsString(); }
  absl::StatusOr<std::unique_ptr<ModelFile>> File(const std::string& directory = "") const {
    return FileOf(Bytes(), directory);
  }
  static absl::StatusOr<std::unique_ptr<ModelFile>> FileOf(std::string bytes, const std::string& directory = "") {
    auto owner = std::make_shared<std::string>(std::move(bytes));
    const absl::Span<const std::byte> view(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
    return ModelFile::FromBytes(owner, view, directory);
  }

 private:
  onnx::ModelProto model_;
};

}  // namespace tilewright::graph
