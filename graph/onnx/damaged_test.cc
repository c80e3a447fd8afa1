// Damaged files: an error or a graph, but no crash, no hang, and bounded memory.
//
// Bytes of models with bodies, functions, external data and tensors of every kind are changed, cut out, repeated and
// cut off, by a seed. DAMAGED_SEEDS and DAMAGED_FIRST widen the run.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "base/limit_memory.h"
#include "graph/fuzz/damage.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/import.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

std::string ConvolutionModel() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 2, 8, 8});
  m.Floats("w", {4, 2, 3, 3}, std::vector<float>(72, 0.5f));
  m.Floats("b", {4}, {1, 2, 3, 4});
  auto* conv = m.Node("Conv", {"x", "w", "b"}, {"c"});
  auto* pads = conv->add_attribute();
  pads->set_name("pads");
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  m.Node("Relu", {"c"}, {"r"});
  auto* pool = m.Node("MaxPool", {"r"}, {"p"});
  auto* kernel = pool->add_attribute();
  kernel->set_name("kernel_shape");
  kernel->add_ints(2);
  kernel->add_ints(2);
  m.Int64s("target", {0, -1});
  m.Node("Reshape", {"p", "target"}, {"f"});
  m.Node("Softmax", {"f"}, {"y"});
  m.Output("y");
  return m.Bytes();
}

std::string ShapeModel() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", "m"});
  m.Int64s("starts", {0, -3});
  m.Int64s("ends", {9223372036854775807, 100});
  m.Int64s("pads", {1, 0, 0, 2});
  m.Int64s("indices", {0, -1});
  m.Node("Slice", {"x", "starts", "ends"}, {"s"});
  m.Node("Pad", {"s", "pads"}, {"p"});
  m.Node("Gather", {"p", "indices"}, {"g"});
  m.Node("Shape", {"g"}, {"shape"});
  m.Node("ConstantOfShape", {"shape"}, {"z"});
  m.Node("Transpose", {"z"}, {"t"});
  ModelWriter::SetInt(m.Node("Concat", {"t", "t"}, {"y"}), "axis", 1);
  m.Output("y");
  return m.Bytes();
}

std::string ControlModel() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n"});
  m.Int64s("trips", {3}, true);
  auto* loop = m.Node("Loop", {"trips", "", "x"}, {"last", "y"});
  auto* attribute = loop->add_attribute();
  attribute->set_name("body");
  onnx::GraphProto* body = attribute->mutable_g();
  ModelWriter::AddValue(body->add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(body->add_input(), "go", TensorProto::BOOL, {});
  ModelWriter::AddValue(body->add_input(), "s", TensorProto::FLOAT, {"n"});
  ModelWriter::AddNode(body->add_node(), "Add", {"s", "x"}, {"next"});
  ModelWriter::AddNode(body->add_node(), "Identity", {"go"}, {"again"});
  for (const char* name : {"again", "next", "next"}) body->add_output()->set_name(name);
  m.Output("y");
  return m.Bytes();
}

TEST(Damaged, EveryFileGivesAGraphOrAnError) {
  // More memory than this is an error of ours.
  LimitMemory(uint64_t{8} << 30);
  OpTable ops;
  AddBasicOps(&ops);
  AddHostOps(&ops);
  const std::vector<std::string> models = {ConvolutionModel(), ShapeModel(), ControlModel()};
  for (const std::string& model : models) {
    auto file = ModelWriter::FileOf(model);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto imported = ImportModel(**file, ops);
    ASSERT_TRUE(imported.ok() && UnsupportedError(*imported).ok()) << imported.status();
  }
  const char* first_text = std::getenv("DAMAGED_FIRST");
  const char* count_text = std::getenv("DAMAGED_SEEDS");
  const int64_t first = first_text != nullptr ? std::atoll(first_text) : 0;
  const int64_t count = count_text != nullptr ? std::atoll(count_text) : 3000;
  int64_t errors = 0, refused = 0, good = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto begin = std::chrono::steady_clock::now();
    auto file = ModelWriter::FileOf(Damaged(models[random() % models.size()], random));
    absl::Status status = file.status();
    if (file.ok()) {
      const auto imported = ImportModel(**file, ops);
      status = imported.status();
      if (imported.ok()) ++(imported->unsupported.empty() ? good : refused);
    }
    if (!status.ok()) ++errors;
    EXPECT_TRUE(status.ok() || !status.message().empty());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  }
  // Damage is found, and not everything is refused.
  EXPECT_GT(errors, 0);
  EXPECT_GT(refused, 0);
  EXPECT_GT(good, 0);
}

// All nodes of a graph and of the bodies in it.
void CollectNodes(onnx::GraphProto* graph, std::vector<onnx::NodeProto*>* nodes) {
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    nodes->push_back(&node);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) CollectNodes(attribute.mutable_g(), nodes);
    }
  }
}

// Gives one drawn node a form that no operator has; false where the draw does not fit it.
bool BreakForm(onnx::ModelProto* model, std::mt19937_64& random) {
  std::vector<onnx::NodeProto*> nodes;
  CollectNodes(model->mutable_graph(), &nodes);
  onnx::NodeProto& node = *nodes[random() % nodes.size()];
  const auto attribute = [&] { return static_cast<int>(random() % static_cast<uint64_t>(node.attribute_size())); };
  switch (random() % 5) {
    case 0:
      if (node.attribute_size() == 0) return false;
      node.mutable_attribute(attribute())->mutable_name()->append("s");
      return true;
    case 1:
      if (node.attribute_size() == 0) return false;
      *node.add_attribute() = onnx::AttributeProto(node.attribute(attribute()));
      return true;
    case 2:
      // Concat and Loop take any number.
      if (node.op_type() == "Concat" || node.op_type() == "Loop") return false;
      for (int i = 0; i < 6; ++i) node.add_input(node.input(0));
      return true;
    case 3:
      if (node.op_type() == "Loop") return false;
      for (int i = 0; i < 3; ++i) node.add_output("surplus" + std::to_string(i));
      return true;
    default:
      if (model->graph().initializer_size() == 0) return false;
      *model->mutable_graph()->add_initializer() = TensorProto(model->graph().initializer(0));
      return true;
  }
}

TEST(Damaged, FaultsOfFormAreErrors) {
  OpTable ops;
  AddBasicOps(&ops);
  AddHostOps(&ops);
  const std::vector<std::string> models = {ConvolutionModel(), ShapeModel(), ControlModel()};
  int64_t broken = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(models[random() % models.size()]));
    if (!BreakForm(&model, random)) continue;
    ++broken;
    auto file = ModelWriter::FileOf(model.SerializeAsString());
    ASSERT_TRUE(file.ok()) << file.status();
    const auto imported = ImportModel(**file, ops);
    EXPECT_FALSE(imported.ok() && UnsupportedError(*imported).ok()) << "seed " << seed;
  }
  EXPECT_GT(broken, 100);
}

}  // namespace
}  // namespace tilewright::graph
