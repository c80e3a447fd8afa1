#include "graph/fuzz/disguise.h"

#include <algorithm>

#include "google/protobuf/unknown_field_set.h"

namespace tilewright::graph {
namespace {

// Fields that the installed messages do not have.
constexpr int kOverloadOfNode = 8, kOverloadOfFunction = 13, kAttributeDefaults = 11;
constexpr const char* kDomain = "disguised";

bool Chance(std::mt19937_64& numbers, unsigned percent) { return numbers() % 100 < percent; }

// A function whose only node is this one. Each attribute stays, is a default of the function, or is given by the call
// where the default is another value.
void WrapInFunction(onnx::ModelProto* model, onnx::NodeProto* node, int number, std::mt19937_64& numbers) {
  onnx::FunctionProto* function = model->add_functions();
  function->set_name("f");
  function->set_domain(kDomain);
  const std::string overload = "o" + std::to_string(number);
  function->mutable_unknown_fields()->AddLengthDelimited(kOverloadOfFunction, overload);
  for (const auto& import : model->opset_import()) *function->add_opset_import() = import;
  onnx::NodeProto* inner = function->add_node();
  *inner = *node;
  node->clear_attribute();
  node->set_op_type("f");
  node->set_domain(kDomain);
  node->mutable_unknown_fields()->AddLengthDelimited(kOverloadOfNode, overload);
  for (int i = 0; i < inner->input_size(); ++i) {
    const std::string name = "a" + std::to_string(i);
    function->add_input(name);
    if (!inner->input(i).empty()) inner->set_input(i, name);
  }
  for (int i = 0; i < inner->output_size(); ++i) {
    const std::string name = "b" + std::to_string(i);
    function->add_output(name);
    inner->set_output(i, name);
  }
  for (onnx::AttributeProto& attribute : *inner->mutable_attribute()) {
    const bool is_number =
        attribute.type() == onnx::AttributeProto::INT || attribute.type() == onnx::AttributeProto::FLOAT;
    if (!is_number || Chance(numbers, 30)) continue;
    onnx::AttributeProto value = attribute, reference;
    reference.set_name(attribute.name());
    reference.set_type(attribute.type());
    reference.set_ref_attr_name("r_" + attribute.name());
    value.set_name("r_" + attribute.name());
    attribute = reference;
    if (Chance(numbers, 50)) {
      *node->add_attribute() = value;
      // Another default, that the call's value replaces.
      if (value.has_i()) value.set_i(value.i() + 1);
      if (value.has_f()) value.set_f(value.f() + 1);
    }
    function->mutable_unknown_fields()->AddLengthDelimited(kAttributeDefaults, value.SerializeAsString());
  }
}

}  // namespace

onnx::ModelProto Disguised(const onnx::ModelProto& model, std::mt19937_64& numbers) {
  onnx::ModelProto result = model;
  onnx::GraphProto* graph = result.mutable_graph();
  int functions = 0;
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    const bool has_body = std::any_of(node.attribute().begin(), node.attribute().end(),
                                      [](const onnx::AttributeProto& a) { return a.has_g(); });
    if (!has_body && Chance(numbers, 40)) WrapInFunction(&result, &node, functions++, numbers);
  }
  if (functions > 0) {
    auto* import = result.add_opset_import();
    import->set_domain(kDomain);
    import->set_version(1);
  }
  for (int i = graph->node_size() - 1; i > 0; --i) {
    graph->mutable_node()->SwapElements(i, static_cast<int>(numbers() % static_cast<uint64_t>(i + 1)));
  }
  for (const onnx::TensorProto& tensor : graph->initializer()) {
    if (!Chance(numbers, 30)) continue;
    onnx::ValueInfoProto* input = graph->add_input();
    input->set_name(tensor.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (const int64_t extent : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(extent);
  }
  return result;
}

}  // namespace tilewright::graph
