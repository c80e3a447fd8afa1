#include "graph/executor/onnx_model.h"

#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

OnnxModel::Tensors Random(std::vector<int64_t> shape) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, 5);
  return {Item::Kind::kTensor, {array}};
}

OnnxModel::Tensors Number(int64_t value) {
  NDArray array(DataType::Int(64), {});
  array.SetInt(0, value);
  return {Item::Kind::kTensor, {array}};
}

absl::StatusOr<std::unique_ptr<OnnxModel>> Load(const ModelWriter& m, const OnnxModel::Inputs& inputs) {
  return OnnxModel::Load(*m.File(), {.inputs = &inputs, .executor = {.interpret = true}});
}

onnx::GraphProto& Branch(onnx::NodeProto* node, const char* name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  return *attribute->mutable_g();
}

TEST(OnnxModel, UnknownDimensionsAreNotEqual) {
  for (const char* unknown : {"?", "", "-1", "None"}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {unknown, unknown});
    m.Node("Neg", {"x"}, {"y"});
    m.Output("y");
    const OnnxModel::Inputs inputs = {{"x", Random({2, 3})}};
    const auto model = Load(m, inputs);
    ASSERT_TRUE(model.ok()) << unknown << ": " << model.status();
    const auto y = (*model)->Run(inputs);
    ASSERT_TRUE(y.ok()) << unknown << ": " << y.status();
    EXPECT_EQ((*y)[0].arrays[0].shape(), (std::vector<int64_t>{2, 3}));
  }
}

// The other branch does not fit the input: the number that decides is bound.
TEST(OnnxModel, OnlyTheBranchThatIsTakenHasToFit) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4, 8});
  m.Input("rate", TensorProto::INT64, {});
  m.Int64s("sixteen", {16}, /*scalar=*/true);
  m.Floats("w", {5, 2}, std::vector<float>(10, 1));
  m.Node("Equal", {"rate", "sixteen"}, {"fits"});
  onnx::NodeProto* node = m.Node("If", {"fits"}, {"y"});
  onnx::GraphProto &then_branch = Branch(node, "then_branch"), &else_branch = Branch(node, "else_branch");
  ModelWriter::AddNode(then_branch.add_node(), "Neg", {"x"}, {"a"});
  then_branch.add_output()->set_name("a");
  ModelWriter::AddNode(else_branch.add_node(), "MatMul", {"x", "w"}, {"b"});
  else_branch.add_output()->set_name("b");
  m.Output("y");
  const OnnxModel::Inputs inputs = {{"x", Random({4, 8})}, {"rate", Number(16)}};
  const auto model = Load(m, inputs);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE((*model)->Run(inputs).ok());
  EXPECT_FALSE((*model)->Run({{"x", Random({4, 8})}, {"rate", Number(8)}}).ok());
  EXPECT_FALSE(Load(m, {{"x", Random({4, 8})}, {"rate", Number(8)}}).ok());
}

// What cannot be imported at every size is imported at the one that the inputs have.
TEST(OnnxModel, SizesAreBoundWhereTheyDecideRanks) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"rows", "columns"});
  m.Int64s("zero", {0}, /*scalar=*/true);
  m.Int64s("one", {1}, /*scalar=*/true);
  m.Int64s("axes", {0});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Gather", {"shape", "zero"}, {"count"});
  m.Node("Equal", {"count", "one"}, {"single"});
  onnx::NodeProto* node = m.Node("If", {"single"}, {"y"});
  onnx::GraphProto &then_branch = Branch(node, "then_branch"), &else_branch = Branch(node, "else_branch");
  ModelWriter::AddNode(then_branch.add_node(), "Squeeze", {"x", "axes"}, {"a"});
  then_branch.add_output()->set_name("a");
  ModelWriter::AddNode(else_branch.add_node(), "Neg", {"x"}, {"b"});
  else_branch.add_output()->set_name("b");
  m.Output("y");
  EXPECT_FALSE(OnnxModel::Load(*m.File(), {.executor = {.interpret = true}}).ok());
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 4}, {3, 4}}) {
    const OnnxModel::Inputs inputs = {{"x", Random(shape)}};
    const auto model = Load(m, inputs);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto y = (*model)->Run(inputs);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ((*y)[0].arrays[0].shape().size(), shape[0] == 1 ? 1u : 2u);
    EXPECT_FALSE((*model)->Run({{"x", Random({2, 4})}}).ok());
  }
}

}  // namespace
}  // namespace tilewright::graph
