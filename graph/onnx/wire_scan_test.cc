#include "graph/onnx/wire_scan.h"

#include <gtest/gtest.h>

#include <string>

#include "onnx/onnx_pb.h"

namespace tilewright::graph {
namespace {

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// What a tensor without its elements says of where they are: "location, offset, length".
std::string PlaceOf(const onnx::TensorProto& tensor) {
  std::string place;
  for (const auto& entry : tensor.external_data()) place += (place.empty() ? "" : ", ") + entry.value();
  return place;
}

void Fill(onnx::TensorProto* tensor, const std::string& name, char element, size_t bytes) {
  tensor->set_name(name);
  tensor->add_dims(static_cast<int64_t>(bytes));
  tensor->set_data_type(onnx::TensorProto::INT8);
  tensor->set_raw_data(std::string(bytes, element));
}

// Tensors in all places that a model has for them.
onnx::ModelProto ModelWithTensors() {
  onnx::ModelProto model;
  onnx::GraphProto* graph = model.mutable_graph();
  Fill(graph->add_initializer(), "initializer", 'a', 1000);
  Fill(graph->add_initializer(), "small", 'b', 127);
  auto* sparse = graph->add_sparse_initializer();
  Fill(sparse->mutable_values(), "values", 'c', 200);
  Fill(sparse->mutable_indices(), "indices", 'd', 300);
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type("Constant");
  Fill(node->add_attribute()->mutable_t(), "attribute", 'e', 128);
  Fill(node->add_attribute()->add_tensors(), "of several", 'f', 150);
  Fill(node->add_attribute()->mutable_g()->add_initializer(), "of a body", 'g', 160);
  Fill(node->add_attribute()->mutable_sparse_tensor()->mutable_values(), "sparse attribute", 'h', 170);
  Fill(model.add_functions()->add_node()->add_attribute()->mutable_t(), "of a function", 'i', 180);
  return model;
}

TEST(WireScan, SaysWhereElementsLie) {
  const onnx::ModelProto model = ModelWithTensors();
  const std::string bytes = model.SerializeAsString();
  const auto stripped = StripTensors(BytesOf(bytes));
  ASSERT_TRUE(stripped.ok()) << stripped.status();
  EXPECT_LT(stripped->size(), 1600u);
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(*stripped));
  const onnx::GraphProto& graph = read.graph();
  const onnx::NodeProto& node = graph.node(0);
  EXPECT_EQ(node.op_type(), "Constant");
  const onnx::TensorProto* const tensors[] = {&graph.initializer(0),
                                              &graph.sparse_initializer(0).values(),
                                              &graph.sparse_initializer(0).indices(),
                                              &node.attribute(0).t(),
                                              &node.attribute(1).tensors(0),
                                              &node.attribute(2).g().initializer(0),
                                              &node.attribute(3).sparse_tensor().values(),
                                              &read.functions(0).node(0).attribute(0).t()};
  const char elements[] = {'a', 'c', 'd', 'e', 'f', 'g', 'h', 'i'};
  for (size_t i = 0; i < std::size(elements); ++i) {
    const onnx::TensorProto& tensor = *tensors[i];
    EXPECT_FALSE(tensor.has_raw_data()) << tensor.name();
    EXPECT_EQ(tensor.data_location(), onnx::TensorProto::EXTERNAL) << tensor.name();
    const std::string content(static_cast<size_t>(tensor.dims(0)), elements[i]);
    const size_t at = bytes.find(content);
    EXPECT_EQ(PlaceOf(tensor),
              std::string(kThisFile) + ", " + std::to_string(at) + ", " + std::to_string(content.size()));
  }
  // Few elements stay in the message.
  EXPECT_EQ(graph.initializer(1).raw_data(), std::string(127, 'b'));
  EXPECT_EQ(graph.initializer(1).external_data_size(), 0);
}

TEST(WireScan, ExternalDataStays) {
  onnx::ModelProto model;
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("weights.bin");
  const auto stripped = StripTensors(BytesOf(model.SerializeAsString()));
  EXPECT_EQ(stripped.value_or(""), model.SerializeAsString());
  entry->set_value(kThisFile);
  EXPECT_EQ(StripTensors(BytesOf(model.SerializeAsString())).status().message(),
            "byte 4: external data lies at a reserved location");
}

// The elements of a tensor that says them twice are the last ones, as protobuf has it, whether they stay in the message
// or not; so are those of a message that is there once and is said twice.
TEST(WireScan, TheLastElementsHold) {
  const auto field = [](char tag, const std::string& content) {
    const size_t n = content.size();
    return std::string{tag, static_cast<char>(n % 128 + 128), static_cast<char>(n / 128)} + content;
  };
  const auto elements_of = [](const std::string& bytes, const onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return tensor.raw_data();
    std::string at, length;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "offset") at = entry.value();
      if (entry.key() == "length") length = entry.value();
    }
    EXPECT_FALSE(tensor.has_raw_data());
    return bytes.substr(std::stoul(at), std::stoul(length));
  };
  const std::string small(10, 's'), large(300, 'l'), other(200, 'o');
  for (const auto& [first, last] :
       {std::pair(small, large), {large, small}, {large, other}, {small, std::string("t")}}) {
    const std::string elements = field('\x4a', first) + field('\x4a', last);
    const std::string initializer = field('\x3a', field('\x2a', elements));
    // Node, attribute, tensor: the attribute says its tensor twice.
    const std::string twice = field('\x2a', field('\x4a', first)) + field('\x2a', field('\x4a', last));
    const std::string attribute = field('\x3a', field('\x0a', field('\x2a', twice)));
    for (const std::string& bytes : {initializer, attribute}) {
      const auto stripped = StripTensors(BytesOf(bytes));
      ASSERT_TRUE(stripped.ok()) << stripped.status();
      onnx::ModelProto read;
      ASSERT_TRUE(read.ParseFromString(*stripped));
      const bool is_initializer = read.graph().initializer_size() == 1;
      EXPECT_EQ(
          elements_of(bytes, is_initializer ? read.graph().initializer(0) : read.graph().node(0).attribute(0).t()),
          last);
    }
  }
}

TEST(WireScan, WhatIsNoMessageIsRefusedByItsByte) {
  const auto error = [](const std::string& bytes) {
    return std::string(StripTensors(BytesOf(bytes)).status().message());
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("\x08\x07"), "");  // ir_version: 7
  EXPECT_EQ(error("\x08"), "byte 0: a number is cut off");
  EXPECT_EQ(error("\x08\x07\x80"), "byte 2: a field's tag is cut off");
  EXPECT_EQ(error(std::string("\x00", 1)), "byte 0: a field has number 0");
  EXPECT_EQ(error("\x0d\x01\x02"), "byte 0: a number is cut off");
  EXPECT_EQ(error("\x3a\x80"), "byte 0: a length is cut off");
  EXPECT_EQ(error("\x3a\x05xyz"), "byte 0: a field of 5 bytes does not fit into the remaining 3 of its message");
  EXPECT_EQ(error("\x0b"), "byte 0: a field has the unknown wire type 3");
  // The graph is whole, the initializer in it is not.
  EXPECT_EQ(error("\x3a\x03\x2a\x04x"), "byte 2: a field of 4 bytes does not fit into the remaining 1 of its message");
  EXPECT_EQ(error(std::string("\x08") + std::string(10, '\xff')), "byte 0: a number is cut off");
}

// A body in a body, 60 levels of node, attribute and graph.
TEST(WireScan, DeepMessagesAreRefused) {
  const auto field = [](char tag, const std::string& content) {
    std::string length;
    for (size_t n = content.size();; n >>= 7) {
      length += static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0));
      if (n < 0x80) break;
    }
    return std::string(1, tag) + length + content;
  };
  for (const int levels : {20, 60}) {
    std::string graph;
    for (int i = 0; i < levels; ++i) graph = field('\x0a', field('\x2a', field('\x32', graph)));
    const auto stripped = StripTensors(BytesOf(field('\x3a', graph)));
    EXPECT_EQ(stripped.ok(), levels == 20);
    if (levels == 60) EXPECT_NE(stripped.status().message().find("messages are nested too deeply"), std::string::npos);
    if (levels == 20) EXPECT_EQ(*stripped, field('\x3a', graph));
  }
}

}  // namespace
}  // namespace tilewright::graph
