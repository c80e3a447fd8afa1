// Models whose shapes follow from elements that are read when the model runs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "ir/ndarray.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// A model of inputs x, a row of 100 that is too long to be bound, and z; "s" (int64 [1]) is the sum of x.
class ReadValues : public testing::Test {
 protected:
  explicit ReadValues(int64_t opset = 17) : m_(opset) {
    m_.Input("x", TensorProto::FLOAT, {100});
    ModelWriter::SetInt(m_.Node("ReduceSum", {"x"}, {"sum"}), "keepdims", 1);
    ModelWriter::SetInt(m_.Node("Cast", {"sum"}, {"s"}), "to", TensorProto::INT64);
  }
  // The shape of y and then its elements, for a z of 0, 1, 2, ... of shape `shape`; empty where there is an error.
  std::vector<double> Run(int sum, const std::vector<int>& shape, bool interpret = false) {
    if (m_.graph().input_size() == 1) {
      m_.Input("z", TensorProto::FLOAT, {shape.begin(), shape.end()});
      m_.Output("y");
    }
    OnnxModel::Inputs inputs;
    NDArray x(DataType::Float(32), {100}), z(DataType::Float(32), {shape.begin(), shape.end()});
    for (int64_t i = 0; i < 100; ++i) x.Set(i, i == 7 ? sum : 0);
    for (int64_t i = 0; i < z.size(); ++i) z.Set(i, static_cast<double>(i));
    inputs["x"] = {Item::Kind::kTensor, {x}};
    inputs["z"] = {Item::Kind::kTensor, {z}};
    const auto model = OnnxModel::Load(*m_.File(), {.inputs = &inputs, .executor = {.interpret = interpret}});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    const auto results = (*model)->Run(inputs);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return {};
    const NDArray& y = (*results)[0].arrays[0];
    std::vector<double> values(y.shape().begin(), y.shape().end());
    for (int64_t i = 0; i < y.size(); ++i) values.push_back(y.Get(i));
    return values;
  }

  ModelWriter m_;
};
using Numbers = std::vector<double>;

TEST_F(ReadValues, StartsMayBeNegative) {
  m_.Int64s("end", {100});
  m_.Node("Slice", {"z", "s", "end"}, {"y"});
  for (const bool interpret : {true, false}) {
    EXPECT_EQ(Run(-2, {4}, interpret), (Numbers{2, 2, 3}));
    EXPECT_EQ(Run(3, {4}, interpret), (Numbers{1, 3}));
    EXPECT_EQ(Run(-9, {4}, interpret), (Numbers{4, 0, 1, 2, 3}));
    EXPECT_EQ(Run(9, {4}, interpret), (Numbers{0}));
  }
}

// A start before the dimension is its first element.
TEST_F(ReadValues, SlicesThatGoBackwards) {
  m_.Int64s("end", {-100});
  m_.Int64s("axes", {0});
  m_.Int64s("steps", {-1});
  m_.Node("Slice", {"z", "s", "end", "axes", "steps"}, {"y"});
  EXPECT_EQ(Run(-2, {4}), (Numbers{3, 2, 1, 0}));
  EXPECT_EQ(Run(-9, {4}), (Numbers{1, 0}));
  EXPECT_EQ(Run(9, {4}), (Numbers{4, 3, 2, 1, 0}));
}

// What is left, and the input's own extent.
TEST_F(ReadValues, ShapesOfReshape) {
  m_.Int64s("two", {2});
  ModelWriter::SetInt(m_.Node("Concat", {"s", "two"}, {"shape"}), "axis", 0);
  m_.Node("Reshape", {"z", "shape"}, {"r"});
  m_.Node("Neg", {"r"}, {"y"});
  for (const int given : {-1, 0, 3}) {
    const Numbers y = Run(given, {3, 2});
    ASSERT_EQ(y.size(), 8u) << given;
    EXPECT_EQ(y[0], 3) << given;
    EXPECT_EQ(y[7], -5) << given;
  }
}

// The pads before and behind are two numbers of one name.
TEST_F(ReadValues, Pads) {
  ModelWriter::SetInt(m_.Node("Concat", {"s", "s"}, {"pads"}), "axis", 0);
  m_.Node("Pad", {"z", "pads"}, {"y"});
  EXPECT_EQ(Run(1, {4}), (Numbers{6, 0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(Run(-1, {4}), (Numbers{2, 1, 2}));
}

TEST_F(ReadValues, SizesOfResize) {
  m_.Int64s("outer", {1, 1});
  ModelWriter::SetInt(m_.Node("Concat", {"outer", "s"}, {"sizes"}), "axis", 0);
  auto* mode = m_.Node("Resize", {"z", "", "", "sizes"}, {"y"})->add_attribute();
  mode->set_name("mode");
  mode->set_type(onnx::AttributeProto::STRING);
  mode->set_s("linear");
  EXPECT_EQ(Run(4, {1, 1, 2}), (Numbers{1, 1, 4, 0, 0.25, 0.75, 1}));
  EXPECT_EQ(Run(1, {1, 1, 2}), (Numbers{1, 1, 1, 0.5}));
}

TEST_F(ReadValues, NumbersOfTheLargest) {
  m_.Node("TopK", {"z", "s"}, {"y", "places"});
  EXPECT_EQ(Run(2, {4}), (Numbers{2, 3, 2}));
}

// Two equal operators name the number of places by symbols of their own.
TEST_F(ReadValues, PlacesThatAreLookedForTwice) {
  for (const std::string side : {"a", "b"}) {
    m_.Node("NonZero", {"x"}, {side + "_places"});
    m_.Node("Transpose", {side + "_places"}, {side + "_rows"});
    m_.Node("GatherND", {"x", side + "_rows"}, {side});
  }
  m_.Node("Add", {"a", "b"}, {"ab"});
  m_.Node("Add", {"ab", "z"}, {"y"});
  EXPECT_EQ(Run(4, {1}), (Numbers{1, 8}));
  EXPECT_EQ(Run(0, {1}), (Numbers{0}));
}

// Each iteration of a loop reads its own numbers: row i of z.
TEST_F(ReadValues, InBodiesOfLoops) {
  m_.Int64s("zero", {0});
  m_.Int64s("one", {1});
  m_.Int64s("trips", {3}, /*scalar=*/true);
  onnx::NodeProto* loop = m_.Node("Loop", {"trips", ""}, {"y"});
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& g = *body->mutable_g();
  ModelWriter::AddNode(g.add_node(), "Unsqueeze", {"i", "zero"}, {"begin"});
  ModelWriter::AddNode(g.add_node(), "Add", {"begin", "one"}, {"end"});
  ModelWriter::AddNode(g.add_node(), "Slice", {"z", "begin", "end"}, {"row"});
  ModelWriter::AddNode(g.add_node(), "Squeeze", {"row", "zero"}, {"scan"});
  ModelWriter::AddNode(g.add_node(), "Identity", {"c"}, {"go"});
  ModelWriter::AddValue(g.add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(g.add_input(), "c", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_output(), "go", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_output(), "scan", TensorProto::FLOAT, {2});
  EXPECT_EQ(Run(0, {4, 2}), (Numbers{3, 2, 0, 1, 2, 3, 4, 5}));
}

// The number that a loop counts to is not known, although all that it is counted from may be bound.
TEST(ReadValuesOfInputs, CountedByALoop) {
  ModelWriter m(17);
  m.Input("z", TensorProto::FLOAT, {6});
  m.Input("n", TensorProto::INT64, {1});
  m.Int64s("one", {1});
  m.Int64s("trips", {2}, /*scalar=*/true);
  onnx::NodeProto* loop = m.Node("Loop", {"trips", "", "n"}, {"count"});
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& g = *body->mutable_g();
  ModelWriter::AddNode(g.add_node(), "Add", {"v", "one"}, {"w"});
  ModelWriter::AddNode(g.add_node(), "Identity", {"c"}, {"go"});
  ModelWriter::AddValue(g.add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(g.add_input(), "c", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_input(), "v", TensorProto::INT64, {1});
  ModelWriter::AddValue(g.add_output(), "go", TensorProto::BOOL, {});
  ModelWriter::AddValue(g.add_output(), "w", TensorProto::INT64, {1});
  m.Node("Slice", {"z", "count", "count_end"}, {"y"});
  m.Int64s("count_end", {100});
  m.Output("y");
  OnnxModel::Inputs inputs;
  NDArray z(DataType::Float(32), {6}), n(DataType::Int(64), {1});
  for (int64_t i = 0; i < 6; ++i) z.Set(i, static_cast<double>(i));
  n.SetInt(0, 2);
  inputs["z"] = {Item::Kind::kTensor, {z}};
  inputs["n"] = {Item::Kind::kTensor, {n}};
  const auto model = OnnxModel::Load(*m.File(), {.inputs = &inputs, .executor = {.interpret = true}});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto results = (*model)->Run(inputs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].arrays[0].shape(), (std::vector<int64_t>{2}));
  EXPECT_EQ((*results)[0].arrays[0].Get(1), 5);
}

}  // namespace
}  // namespace tilewright::graph
