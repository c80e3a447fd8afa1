#include "graph/onnx/model_functions.h"

#include <map>

#include "google/protobuf/unknown_field_set.h"

namespace tilewright::graph {
namespace {

// Fields that files have and the installed messages do not: the overload of functions (IR version 10) and the default
// values of their attributes (9).
constexpr int kOverloadOfNode = 8, kOverloadOfFunction = 13, kAttributeDefaults = 11;

template <class Message>
std::vector<std::string> UnknownStrings(const Message& message, int field) {
  std::vector<std::string> values;
  const auto& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& one = fields.field(i);
    if (one.number() == field && one.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      values.push_back(one.length_delimited());
    }
  }
  return values;
}

template <class Message>
std::string OverloadOf(const Message& message, int field) {
  const std::vector<std::string> values = UnknownStrings(message, field);
  return values.empty() ? "" : values.back();
}

using Attributes = std::map<std::string, onnx::AttributeProto>;

void ReplaceReferences(const Attributes& given, onnx::NodeProto* node);

void ReplaceReferences(const Attributes& given, onnx::GraphProto* graph) {
  for (onnx::NodeProto& node : *graph->mutable_node()) ReplaceReferences(given, &node);
}

void ReplaceReferences(const Attributes& given, onnx::NodeProto* node) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
  for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
    if (attribute.ref_attr_name().empty()) {
      if (attribute.has_g()) ReplaceReferences(given, attribute.mutable_g());
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) ReplaceReferences(given, &graph);
      *attributes.Add() = std::move(attribute);
      continue;
    }
    const auto value = given.find(attribute.ref_attr_name());
    if (value == given.end()) continue;
    onnx::AttributeProto* added = attributes.Add();
    *added = value->second;
    added->set_name(attribute.name());
  }
  node->mutable_attribute()->Swap(&attributes);
}

}  // namespace

const onnx::FunctionProto* FindFunction(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  const std::string overload = OverloadOf(node, kOverloadOfNode);
  for (const onnx::FunctionProto& function : model.functions()) {
    if (function.name() == node.op_type() && function.domain() == node.domain() &&
        OverloadOf(function, kOverloadOfFunction) == overload) {
      return &function;
    }
  }
  return nullptr;
}

std::vector<onnx::NodeProto> InstantiateNodes(const onnx::FunctionProto& function, const onnx::NodeProto& node) {
  Attributes given;
  for (const std::string& bytes : UnknownStrings(function, kAttributeDefaults)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) given.insert_or_assign(attribute.name(), attribute);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) given.insert_or_assign(attribute.name(), attribute);
  std::vector<onnx::NodeProto> nodes(function.node().begin(), function.node().end());
  for (onnx::NodeProto& inner : nodes) ReplaceReferences(given, &inner);
  return nodes;
}

}  // namespace tilewright::graph
