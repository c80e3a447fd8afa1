#include "graph/onnx/import.h"

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "graph/executor/onnx_model.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

class Import : public testing::Test {
 protected:
  Import() {
    AddBasicOps(&ops_);
    AddHostOps(&ops_);
  }
  absl::StatusOr<ImportedModel> ImportOf(ModelWriter& m, const ImportOptions& options = {}) {
    file_ = *m.File();
    return ImportModel(*file_, ops_, options);
  }
  static NDArray Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
    NDArray array(DataType::Float(32), std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) array.Set(static_cast<int64_t>(i), values[i]);
    return array;
  }
  // The model's only output for its input x and others, by the interpreter.
  static absl::StatusOr<NDArray> Run(ModelWriter& m, const NDArray& x, OnnxModel::Inputs inputs = {}) {
    inputs["x"] = {Item::Kind::kTensor, {x}};
    TW_ASSIGN_OR_RETURN(auto model, OnnxModel::Load(*m.File(), {.inputs = &inputs, .executor = {.interpret = true}}));
    TW_ASSIGN_OR_RETURN(auto outputs, model->Run(inputs));
    return outputs[0].arrays[0];
  }

  OpTable ops_;
  std::unique_ptr<ModelFile> file_;
};

TEST_F(Import, TensorsThatNoMachineHoldsAreErrors) {
  ModelWriter input(17);
  input.Input("x", TensorProto::FLOAT, {1 << 30, 1 << 30, "n"});
  input.Node("Relu", {"x"}, {"y"});
  input.Output("y");
  EXPECT_THAT(std::string(ImportOf(input).status().message()),
              HasSubstr("the value \"x\" takes more than a tebibyte: R.Tensor((1073741824, 1073741824, n)"));
  ModelWriter result(17);
  result.Int64s("shape", {int64_t{1} << 62, 3});
  result.Node("ConstantOfShape", {"shape"}, {"y"});
  result.Output("y");
  EXPECT_THAT(std::string(ImportOf(result).status().message()),
              HasSubstr("the value \"y\" takes more than a tebibyte"));
  ModelWriter empty(17);
  empty.Input("x", TensorProto::FLOAT, {1 << 30, 0, 1 << 30});
  empty.Node("Relu", {"x"}, {"y"});
  empty.Output("y");
  EXPECT_TRUE(ImportOf(empty).ok());
}

TEST_F(Import, NegativeExtentsAreErrors) {
  ModelWriter m(17);
  m.Int64s("shape", {2, -3});
  m.Node("ConstantOfShape", {"shape"}, {"y"});
  m.Output("y");
  const auto model = ImportOf(m);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(std::string(UnsupportedError(*model).message()), HasSubstr("extent 1 of its result is -3"));
}

// Programs are written for the elements that ONNX allows.
TEST_F(Import, ElementsThatAnOperatorDoesNotTakeAreErrors) {
  const std::vector<std::pair<const char*, int32_t>> nodes = {
      {"Mean", TensorProto::INT64}, {"Sqrt", TensorProto::INT32},       {"Abs", TensorProto::BOOL},
      {"Not", TensorProto::FLOAT},  {"BitwiseNot", TensorProto::FLOAT}, {"Softmax", TensorProto::INT32},
      {"Relu", TensorProto::BOOL},  {"ReduceSum", TensorProto::BOOL}};
  for (const auto& [op, type] : nodes) {
    ModelWriter m(18);
    m.Input("x", type, {2, 3});
    m.Node(op, {"x"}, {"y"});
    m.Output("y");
    const auto model = ImportOf(m);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_THAT(std::string(UnsupportedError(*model).message()), HasSubstr("elements of this type are not supported"))
        << op;
  }
}

// Positions, sizes and axes are whole numbers, conditions truth values.
TEST_F(Import, LaterInputsOfOtherElementsAreErrors) {
  const std::vector<std::pair<const char*, int32_t>> nodes = {
      {"Trilu", TensorProto::FLOAT},   {"Gather", TensorProto::FLOAT},    {"Expand", TensorProto::FLOAT},
      {"Tile", TensorProto::BOOL},     {"Unsqueeze", TensorProto::FLOAT}, {"Compress", TensorProto::INT64},
      {"ReduceSum", TensorProto::BOOL}};
  for (const auto& [op, type] : nodes) {
    ModelWriter m(18);
    m.Input("x", TensorProto::FLOAT, {2, 3});
    m.Input("k", type, {1});
    m.Node(op, {"x", "k"}, {"y"});
    m.Output("y");
    const auto model = ImportOf(m);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_THAT(std::string(UnsupportedError(*model).message()),
                HasSubstr("elements of this type are not supported as input 1"))
        << op;
  }
}

TEST_F(Import, MoreOperandsThanAnOperatorTakesAreErrors) {
  for (const auto& [op, inputs] : {std::pair("Abs", 2), std::pair("Tanh", 3), std::pair("Sub", 3)}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {2, 3});
    m.Node(op, std::vector<std::string>(static_cast<size_t>(inputs), "x"), {"y"});
    m.Output("y");
    const auto model = ImportOf(m);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_THAT(std::string(UnsupportedError(*model).message()),
                HasSubstr("it has more inputs than the operator takes"))
        << op;
  }
}

TEST_F(Import, AllUnsupportedNodesAreListed) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 4});
  m.Node("Nonesuch", {"x"}, {"a"});
  m.Node("Relu", {"a"}, {"b"});
  m.Node("Mish", {"b"}, {"c"});
  m.Node("Relu", {"x"}, {"y"});
  m.Output("y");
  const auto model = ImportOf(m);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->unsupported.size(), 2u);
  const std::string text(UnsupportedError(*model).message());
  EXPECT_THAT(text, HasSubstr("2 nodes cannot be imported"));
  EXPECT_THAT(text, HasSubstr("node \"node_a\", operator Nonesuch, opset 17"));
  EXPECT_THAT(text, HasSubstr("the operator is not supported"));
  EXPECT_THAT(text, HasSubstr("operator Mish"));
  EXPECT_THAT(text, HasSubstr("this opset is not supported"));
}

TEST_F(Import, WhatIsWrongWithTheWholeFile) {
  ModelWriter undefined(17);
  undefined.Node("Relu", {"x"}, {"y"});
  undefined.Output("y");
  EXPECT_THAT(std::string(ImportOf(undefined).status().message()),
              HasSubstr("reads \"x\", which no node before it gives"));
  ModelWriter twice(17);
  twice.Input("x", TensorProto::FLOAT, {4});
  twice.Node("Relu", {"x"}, {"x"});
  twice.Output("x");
  EXPECT_THAT(std::string(ImportOf(twice).status().message()), HasSubstr("\"x\" is defined twice"));
  ModelWriter output(17);
  output.Input("x", TensorProto::FLOAT, {4});
  output.Output("y");
  EXPECT_THAT(std::string(ImportOf(output).status().message()), HasSubstr("output \"y\" is not defined"));
}

// Shape -> Gather -> Mul -> Concat -> Reshape over a symbolic extent.
TEST_F(Import, ShapesAreComputedAsExpressions) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 6});
  m.Int64s("zero", {0}, true);
  m.Int64s("two", {2}, true);
  m.Int64s("axes", {0});
  m.Int64s("three", {3});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Gather", {"shape", "zero"}, {"rows"});
  m.Node("Mul", {"rows", "two"}, {"double"});
  m.Node("Unsqueeze", {"double", "axes"}, {"doubles"});
  m.Node("Concat", {"doubles", "three"}, {"target"})->add_attribute()->set_name("axis");
  m.graph().mutable_node(4)->mutable_attribute(0)->set_i(0);
  m.Node("Reshape", {"x", "target"}, {"y"});
  m.Output("y");
  const auto model = ImportOf(m);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(UnsupportedError(*model).ok()) << UnsupportedError(*model);
  const auto y = Run(m, Floats({2, 6}, std::vector<float>(12, 1)));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), (std::vector<int64_t>{4, 3}));
}

// An extent that depends on data: NonZero -> Shape -> ConstantOfShape.
TEST_F(Import, ExtentsThatDependOnData) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {5});
  m.Node("NonZero", {"x"}, {"places"});
  m.Node("Shape", {"places"}, {"shape"});
  m.Node("ConstantOfShape", {"shape"}, {"y"});
  m.Output("y");
  const auto y = Run(m, Floats({5}, {0, 1, 0, 2, 3}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), (std::vector<int64_t>{1, 3}));
}

// A size that is computed from data.
TEST_F(Import, SizesAreReadWhenTheModelRuns) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {100});
  m.Int64s("one", {1});
  m.Node("ReduceMax", {"x"}, {"largest"});
  m.Node("Cast", {"largest"}, {"size"})->add_attribute()->set_name("to");
  m.graph().mutable_node(1)->mutable_attribute(0)->set_i(TensorProto::INT64);
  m.Int64s("start", {0});
  m.Node("Reshape", {"size", "one"}, {"end"});
  m.Node("Slice", {"x", "start", "end"}, {"y"});
  m.Output("y");
  std::vector<float> values(100, 0);
  values[7] = 3;
  const auto y = Run(m, Floats({100}, values));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), (std::vector<int64_t>{3}));
}

TEST_F(Import, FunctionsOfTheModelAreInlined) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  onnx::FunctionProto* function = m.model().add_functions();
  function->set_name("Leaky");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(17);
  auto* inner = ModelWriter::AddNode(function->add_node(), "LeakyRelu", {"a"}, {"b"});
  auto* reference = inner->add_attribute();
  reference->set_name("alpha");
  reference->set_ref_attr_name("slope");
  reference->set_type(onnx::AttributeProto::FLOAT);
  auto* node = m.Node("Leaky", {"x"}, {"y"});
  node->set_domain("local");
  auto* slope = node->add_attribute();
  slope->set_name("slope");
  slope->set_f(0.5);
  m.Output("y");
  const auto y = Run(m, Floats({3}, {-2, 0, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({3}, {-1, 0, 2})));
}

// Fields of newer files, which the installed messages do not have.
constexpr int kOverloadOfNode = 8, kOverloadOfFunction = 13, kAttributeDefaults = 11;

onnx::FunctionProto* AddActivation(ModelWriter& m, const std::string& op, const std::string& attribute) {
  onnx::FunctionProto* function = m.model().add_functions();
  function->set_name("Act");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  auto* inner = ModelWriter::AddNode(function->add_node(), op, {"a"}, {"b"});
  if (attribute.empty()) return function;
  auto* reference = inner->add_attribute();
  reference->set_name(attribute);
  reference->set_ref_attr_name("slope");
  reference->set_type(onnx::AttributeProto::FLOAT);
  return function;
}

TEST_F(Import, AttributesOfFunctionsHaveDefaults) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.25);
  AddActivation(m, "LeakyRelu", "alpha")
      ->mutable_unknown_fields()
      ->AddLengthDelimited(kAttributeDefaults, slope.SerializeAsString());
  m.Node("Act", {"x"}, {"t"})->set_domain("local");
  auto* given = m.Node("Act", {"t"}, {"y"});
  given->set_domain("local");
  *given->add_attribute() = slope;
  given->mutable_attribute(0)->set_f(0.5);
  m.Output("y");
  const auto y = Run(m, Floats({3}, {-8, 0, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({3}, {-1, 0, 2})));
}

TEST_F(Import, FunctionsOfOneNameDifferByTheirOverload) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  AddActivation(m, "Neg", "")->mutable_unknown_fields()->AddLengthDelimited(kOverloadOfFunction, "first");
  AddActivation(m, "Relu", "")->mutable_unknown_fields()->AddLengthDelimited(kOverloadOfFunction, "second");
  auto* node = m.Node("Act", {"x"}, {"y"});
  node->set_domain("local");
  node->mutable_unknown_fields()->AddLengthDelimited(kOverloadOfNode, "second");
  m.Output("y");
  const auto y = Run(m, Floats({3}, {-8, 0, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({3}, {0, 0, 2})));
}

// References stand in bodies of a function's nodes too.
TEST_F(Import, BodiesInsideOfFunctionsSeeItsAttributes) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  onnx::FunctionProto* function = AddActivation(m, "If", "");
  function->mutable_node(0)->set_input(0, "c");
  // Nodes behind the one that reads them.
  ModelWriter::AddNode(function->add_node(), "Greater", {"most", "zero"}, {"c"});
  ModelWriter::AddNode(function->add_node(), "Sub", {"most", "most"}, {"zero"});
  ModelWriter::SetInt(ModelWriter::AddNode(function->add_node(), "ReduceMax", {"a"}, {"most"}), "keepdims", 0);
  for (onnx::NodeProto& node : *function->mutable_node()) {
    if (node.op_type() != "If") continue;
    for (const char* name : {"then_branch", "else_branch"}) {
      auto* attribute = node.add_attribute();
      attribute->set_name(name);
      onnx::GraphProto* graph = attribute->mutable_g();
      auto* inner = ModelWriter::AddNode(graph->add_node(), "LeakyRelu", {"a"}, {"r"});
      auto* reference = inner->add_attribute();
      reference->set_name("alpha");
      reference->set_ref_attr_name("slope");
      graph->add_output()->set_name("r");
    }
  }
  auto* node = m.Node("Act", {"x"}, {"y"});
  node->set_domain("local");
  auto* slope = node->add_attribute();
  slope->set_name("slope");
  slope->set_f(0.5);
  m.Output("y");
  const auto y = Run(m, Floats({3}, {-8, 0, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({3}, {-4, 0, 2})));
}

TEST_F(Import, ArraysReplaceDefaultsOfInputs) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2});
  m.Input("w", TensorProto::FLOAT, {2});
  m.Floats("w", {2}, {10, 20});
  m.Node("Add", {"x", "w"}, {"y"});
  m.Output("y");
  auto y = Run(m, Floats({2}, {1, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({2}, {11, 22})));
  y = Run(m, Floats({2}, {1, 2}), {{"w", {Item::Kind::kTensor, {Floats({2}, {3, 4})}}}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({2}, {4, 6})));
}

// The array that is given says how many dimensions there are.
TEST_F(Import, InputsOfUnknownRank) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {});
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  m.Node("Softmax", {"x"}, {"y"});
  m.Output("y");
  const auto y = Run(m, Floats({2, 1}, {3, 5}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({2, 1}, {1, 1})));
}

TEST_F(Import, SparseTensorsAreConstants) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2, 3});
  onnx::SparseTensorProto* sparse = m.graph().add_sparse_initializer();
  *sparse->mutable_values() = *m.Floats("s", {2}, {5, -1});
  *sparse->mutable_indices() = *m.Int64s("places", {1, 5});
  for (const int64_t extent : {2, 3}) sparse->add_dims(extent);
  m.graph().clear_initializer();
  m.Node("Add", {"x", "s"}, {"y"});
  m.Output("y");
  const auto y = Run(m, Floats({2, 3}, {1, 1, 1, 1, 1, 1}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({2, 3}, {1, 6, 1, 1, 1, 0})));
}

TEST_F(Import, BranchesOfOtherOutputsAreErrors) {
  for (const bool known : {true, false}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {2});
    m.Floats("zero", {1}, {0});
    m.Node("ReduceMax", {known ? "zero" : "x"}, {"most"});
    m.Node("Greater", {"most", "zero"}, {"c"});
    auto* branch = m.Node("If", {"c"}, {"y"});
    for (const bool then : {true, false}) {
      auto* attribute = branch->add_attribute();
      attribute->set_name(then ? "then_branch" : "else_branch");
      onnx::GraphProto* graph = attribute->mutable_g();
      ModelWriter::AddNode(graph->add_node(), "Neg", {"x"}, {"r"});
      graph->add_output()->set_name("r");
      if (then) graph->add_output()->set_name("x");
    }
    m.Output("y");
    const auto model = ImportOf(m);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_THAT(std::string(UnsupportedError(*model).message()),
                HasSubstr("its branches have different numbers of outputs"));
  }
}

// A trip count, no condition (an empty name) and nothing that is carried.
TEST_F(Import, LoopsWithoutCondition) {
  ModelWriter m(17);
  m.Input("x", TensorProto::INT64, {});
  auto* loop = m.Node("Loop", {"x", ""}, {"y"});
  auto* attribute = loop->add_attribute();
  attribute->set_name("body");
  onnx::GraphProto* body = attribute->mutable_g();
  ModelWriter::AddValue(body->add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(body->add_input(), "go", TensorProto::BOOL, {});
  ModelWriter::AddNode(body->add_node(), "Identity", {"go"}, {"on"});
  ModelWriter::AddNode(body->add_node(), "Mul", {"i", "i"}, {"square"});
  body->add_output()->set_name("on");
  body->add_output()->set_name("square");
  m.Output("y");
  NDArray trips(DataType::Int(64), {});
  trips.SetInt(0, 3);
  const auto y = Run(m, trips);
  ASSERT_TRUE(y.ok()) << y.status();
  ASSERT_EQ(y->shape(), std::vector<int64_t>{3});
  EXPECT_EQ(y->GetInt(2), 4);
}

// DynamicQuantizeLSTM is an LSTM whose weights are dequantized; activations are not rounded to 8 bits
// (docs/numerics.md).
TEST_F(Import, ActivationsOfAQuantizedLstmStayFloats) {
  const std::vector<float> w = {3, -5, 28, 14, 90, -127, 7, 60}, r = {4, -9, -1, -3};
  std::vector<NDArray> results;
  for (const bool quantized : {true, false}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {5, 1, 2});
    // [direction, input, gates] as integers, [direction, gates, input] as floats.
    if (quantized) {
      onnx::TensorProto* weights[] = {m.graph().add_initializer(), m.graph().add_initializer()};
      for (const int which : {0, 1}) {
        weights[which]->set_name(which == 0 ? "w" : "r");
        weights[which]->set_data_type(TensorProto::INT8);
        for (const int64_t dim : {1, which == 0 ? 2 : 1, 4}) weights[which]->add_dims(dim);
        for (const float value : which == 0 ? w : r) weights[which]->add_int32_data(static_cast<int>(value));
      }
      m.Floats("w_scale", {1}, {0.0625});
      m.Floats("r_scale", {1}, {0.25});
    } else {
      std::vector<float> transposed, recurrent;
      for (size_t gate = 0; gate < 4; ++gate) {
        for (size_t i = 0; i < 2; ++i) transposed.push_back(w[i * 4 + gate] * 0.0625f);
        recurrent.push_back(r[gate] * 0.25f);
      }
      m.Floats("w", {1, 4, 2}, transposed);
      m.Floats("r", {1, 4, 1}, recurrent);
    }
    auto* node = quantized ? m.Node("DynamicQuantizeLSTM",
                                    {"x", "w", "r", "", "", "", "", "", "w_scale", "", "r_scale", ""}, {"y"})
                           : m.Node("LSTM", {"x", "w", "r"}, {"y"});
    if (quantized) node->set_domain("com.microsoft");
    m.Import("com.microsoft", 1);
    ModelWriter::SetInt(node, "hidden_size", 1);
    m.Output("y");
    // The steps of eight bits between the least and the greatest would be 0.03.
    const auto y = Run(m, Floats({5, 1, 2}, {0.01f, -4, 0.02f, 4, 0.3f, -0.01f, 0.11f, 0.013f, -0.07f, 0.2f}));
    ASSERT_TRUE(y.ok()) << y.status();
    results.push_back(*y);
  }
  EXPECT_TRUE(BitEqual(results[0], results[1]));
}

// Branches and bodies see the values around them.
TEST_F(Import, BodiesCaptureValues) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n"});
  m.Node("ReduceMax", {"x"}, {"largest"});
  m.Floats("limit", {1}, {1});
  m.Node("Greater", {"largest", "limit"}, {"is_large"});
  auto* branch = m.Node("If", {"is_large"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    onnx::GraphProto* graph = attribute->mutable_g();
    ModelWriter::AddNode(graph->add_node(), std::string(name) == "then_branch" ? "Neg" : "Identity", {"x"}, {"r"});
    graph->add_output()->set_name("r");
  }
  m.Output("y");
  auto y = Run(m, Floats({2}, {1, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({2}, {-1, -2})));
  y = Run(m, Floats({3}, {1, 0, 0}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(BitEqual(*y, Floats({3}, {1, 0, 0})));
}

}  // namespace
}  // namespace tilewright::graph
