// Results of single operators beside numbers that another implementation gave: options that libonnx-testdata leaves
// out.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "ir/ndarray.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

struct Input {
  const char* name;
  int32_t type;
  std::vector<int> dims;
  std::vector<double> values;
};

DataType TypeOf(int32_t type) {
  return type == TensorProto::FLOAT   ? DataType::Float(32)
         : type == TensorProto::INT64 ? DataType::Int(64)
                                      : DataType::UInt(8);
}

// The last output of a node, whose text is that of its message, without the names of its inputs. Inputs that decide
// shapes are bound to their values.
std::vector<double> Values(const std::string& text, const std::vector<Input>& inputs, int64_t opset = 18) {
  ModelWriter m(opset);
  auto* import = m.model().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  onnx::NodeProto* node = m.graph().add_node();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, node)) << text;
  OnnxModel::Inputs values;
  for (const Input& input : inputs) {
    node->add_input(input.name);
    if (*input.name == '\0') continue;
    m.Input(input.name, input.type, {input.dims.begin(), input.dims.end()});
    NDArray array(TypeOf(input.type), {input.dims.begin(), input.dims.end()});
    for (size_t i = 0; i < input.values.size(); ++i) array.Set(static_cast<int64_t>(i), input.values[i]);
    values[input.name] = {Item::Kind::kTensor, {array}};
  }
  m.Output(node->output(node->output_size() - 1));
  const auto model = OnnxModel::Load(*m.File(), {.inputs = &values, .executor = {.interpret = true}});
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  const auto results = (*model)->Run(values);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  std::vector<double> result;
  const NDArray& array = (*results)[0].arrays[0];
  for (int64_t i = 0; i < array.size(); ++i) result.push_back(array.Get(i));
  return result;
}

void ExpectNear(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
}

constexpr int32_t kFloat = TensorProto::FLOAT, kByte = TensorProto::UINT8, kLong = TensorProto::INT64;

// What is odd of the padding goes to the beginning, by SAME_UPPER to the end.
TEST(OperatorValues, PaddingOfTransposedConvolutionsByTheirOutput) {
  const std::vector<Input> inputs = {{"x", kFloat, {1, 1, 4}, {1, 2, 3, 4}}, {"w", kFloat, {1, 1, 3}, {1, 10, 100}}};
  const auto values = [&](const std::string& output, const std::string& padding) {
    return Values(R"(op_type: "ConvTranspose" output: "y" attribute { name: "strides" type: INTS ints: 2 }
                     attribute { name: "output_shape" type: INTS ints: )" +
                      output + R"( } attribute { name: "auto_pad" type: STRING s: ")" + padding + "\" }",
                  inputs);
  };
  ExpectNear(values("8", "NOTSET"), {10, 102, 20, 203, 30, 304, 40, 400});
  ExpectNear(values("7", "NOTSET"), {10, 102, 20, 203, 30, 304, 40});
  ExpectNear(values("6", "NOTSET"), {102, 20, 203, 30, 304, 40});
  ExpectNear(values("8", "SAME_UPPER"), {1, 10, 102, 20, 203, 30, 304, 40});
  ExpectNear(values("8", "SAME_LOWER"), {10, 102, 20, 203, 30, 304, 40, 400});
}

// Extents that are not known before the model runs.
TEST(OperatorValues, PaddingOfTransposedConvolutionsOfAnySize) {
  ModelWriter m(17);
  m.Input("x", kFloat, {1, 1, "n"});
  m.Floats("w", {1, 1, 3}, {1, 10, 100});
  onnx::NodeProto* node = m.Node("ConvTranspose", {"x", "w"}, {"y"});
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      R"(attribute { name: "strides" type: INTS ints: 2 } attribute { name: "auto_pad" type: STRING s: "SAME_UPPER" })",
      node));
  m.Output("y");
  const auto model = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}});
  ASSERT_TRUE(model.ok()) << model.status();
  NDArray x(DataType::Float(32), {1, 1, 4});
  for (int64_t i = 0; i < 4; ++i) x.Set(i, static_cast<double>(i + 1));
  const auto y = (*model)->Run({{"x", {Item::Kind::kTensor, {x}}}});
  ASSERT_TRUE(y.ok()) << y.status();
  const NDArray& array = (*y)[0].arrays[0];
  ASSERT_EQ(array.shape(), (std::vector<int64_t>{1, 1, 8}));
  const double expected[] = {1, 10, 102, 20, 203, 30, 304, 40};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(array.Get(i), expected[i]) << i;
}

// The filter reads the edge's element for those outside, unless they are to be left out.
TEST(OperatorValues, AntialiasingAtEdges) {
  const auto values = [](const std::string& mode, int exclude) {
    return Values(R"(op_type: "Resize" output: "y" attribute { name: "antialias" type: INT i: 1 }
                     attribute { name: "mode" type: STRING s: ")" +
                      mode + R"(" } attribute { name: "exclude_outside" type: INT i: )" + std::to_string(exclude) +
                      " }",
                  {{"x", kFloat, {6}, {1, 2, 4, 8, 16, 32}}, {"", 0, {}, {}}, {"s", kFloat, {1}, {0.5}}});
  };
  ExpectNear(values("linear", 0), {1.75, 6.75, 23});
  ExpectNear(values("linear", 1), {1.8571429, 6.75, 21.7142868});
  ExpectNear(values("cubic", 0), {1.19921875, 5.30859375, 23.83203125});
}

// Places between elements, before the image and behind it.
TEST(OperatorValues, SamplesOfVolumes) {
  const auto values = [](const std::string& mode, const std::string& padding, int align) {
    return Values(R"(op_type: "GridSample" output: "y" attribute { name: "mode" type: STRING s: ")" + mode +
                      R"(" } attribute { name: "padding_mode" type: STRING s: ")" + padding +
                      R"(" } attribute { name: "align_corners" type: INT i: )" + std::to_string(align) + " }",
                  {{"x", kFloat, {1, 1, 2, 2, 2}, {1, 4, 9, 16, 25, 36, 49, 64}},
                   {"g", kFloat, {1, 1, 1, 3, 3}, {0, 0, 0, -0.5, 0.25, 0.75, 2.5, -1, 0}}},
                  20);
  };
  ExpectNear(values("linear", "zeros", 0), {25.5, 32.25, 0});
  ExpectNear(values("linear", "border", 0), {25.5, 43, 20});
  ExpectNear(values("linear", "reflection", 0), {25.5, 43, 13});
  ExpectNear(values("nearest", "zeros", 0), {1, 49, 0});
  ExpectNear(values("nearest", "border", 0), {1, 49, 4});
  ExpectNear(values("linear", "zeros", 1), {25.5, 38.875, 5});
}

TEST(OperatorValues, GridsOfAffineMaps) {
  const auto values = [](int align, const Input& theta, const std::vector<double>& size) {
    return Values(R"(op_type: "AffineGrid" output: "y" attribute { name: "align_corners" type: INT i: )" +
                      std::to_string(align) + " }",
                  {theta, {"s", kLong, {static_cast<int>(size.size())}, size}}, 20);
  };
  const Input flat = {"t", kFloat, {1, 2, 3}, {1, 2, 0.5, 0, -1, 0.25}};
  ExpectNear(values(0, flat, {1, 1, 2, 3}),
             {-1.1666667, 0.75, -0.5, 0.75, 0.1666667, 0.75, 0.8333333, -0.25, 1.5, -0.25, 2.1666667, -0.25});
  ExpectNear(values(1, flat, {1, 1, 2, 3}), {-2.5, 1.25, -1.5, 1.25, -0.5, 1.25, 1.5, -0.75, 2.5, -0.75, 3.5, -0.75});
  ExpectNear(values(1, flat, {1, 1, 1, 1}), {0.5, 0.25});
  ExpectNear(values(0, {"t", kFloat, {1, 3, 4}, {1, 0, 0, 0.5, 0, 2, 0, 0, 1, 1, 1, 0}}, {1, 1, 2, 1, 2}),
             {0, 0, -1, 1, 0, 0, 0, 0, 0, 1, 0, 1});
}

TEST(OperatorValues, WindowsAddedBackToTheirImage) {
  std::vector<double> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i + 1);
  ExpectNear(Values(R"(op_type: "Col2Im" output: "y" attribute { name: "strides" type: INTS ints: 2 ints: 1 }
                       attribute { name: "pads" type: INTS ints: 1 ints: 0 ints: 0 ints: 1 }
                       attribute { name: "dilations" type: INTS ints: 1 ints: 2 })",
                    {{"x", kFloat, {1, 4, 6}, x}, {"i", kLong, {2}, {3, 4}}, {"b", kLong, {2}, {2, 2}}}),
             {13, 14, 34, 20, 4, 5, 16, 11, 16, 17, 40, 23});
}

// The second region has a cell without an extent, the third reaches out of the image.
TEST(OperatorValues, RegionsWithNumbersOfSamplesOfTheirOwn) {
  std::vector<double> x(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const auto values = [&](const std::string& mode) {
    return Values(R"(op_type: "RoiAlign" output: "y" attribute { name: "output_width" type: INT i: 2 }
                     attribute { name: "mode" type: STRING s: ")" +
                      mode + "\" }",
                  {{"x", kFloat, {1, 1, 4, 4}, x},
                   {"r", kFloat, {3, 4}, {0, 0, 3, 3, 0.5, 1, 1.5, 1, 1, 1, 7, 7}},
                   {"b", kLong, {3}, {0, 0, 0}}});
  };
  ExpectNear(values("avg"), {4.3125, 5.75, 0, 0, 7.3333333, 2.6666667});
  ExpectNear(values("max"), {8, 8.75, 0, 0, 15, 15});
}

TEST(OperatorValues, SequencesAlongOtherDimensions) {
  ExpectNear(Values(R"(op_type: "Scan" output: "f" output: "y" attribute { name: "num_scan_inputs" type: INT i: 1 }
                       attribute { name: "scan_input_axes" type: INTS ints: 1 }
                       attribute { name: "scan_output_axes" type: INTS ints: -1 }
                       attribute { name: "body" type: GRAPH g {
                         node { op_type: "Add" input: "s" input: "e" output: "so" }
                         node { op_type: "Neg" input: "so" output: "sc" }
                         input { name: "s" } input { name: "e" } output { name: "so" } output { name: "sc" } } })",
                    {{"i", kFloat, {2}, {10, 20}}, {"x", kFloat, {2, 3}, {1, 2, 3, 4, 5, 6}}}),
             {-11, -13, -16, -24, -29, -35});
}

// Both bodies would be called "body".
TEST(OperatorValues, LoopsInLoops) {
  ExpectNear(Values(R"(op_type: "Loop" output: "y" attribute { name: "body" type: GRAPH g {
                         node { op_type: "Loop" input: "i" input: "" input: "v" output: "w"
                                attribute { name: "body" type: GRAPH g {
                                  node { op_type: "CastLike" input: "j" input: "u" output: "f" }
                                  node { op_type: "Add" input: "u" input: "f" output: "t" }
                                  node { op_type: "Identity" input: "d" output: "e" }
                                  input { name: "j" } input { name: "d" } input { name: "u" }
                                  output { name: "e" } output { name: "t" } } } }
                         node { op_type: "Identity" input: "c" output: "o" }
                         input { name: "i" } input { name: "c" } input { name: "v" }
                         output { name: "o" } output { name: "w" } } })",
                    {{"m", kLong, {}, {5}}, {"", 0, {}, {}}, {"x", kFloat, {}, {1}}}),
             {11});
}

// (a b) + c over no elements, which the shapes say, and the sum of a gather at the places that are not zero, of which
// there are none when the model runs.
TEST(OperatorValues, SumsOfNoElements) {
  ModelWriter m(17);
  m.Input("a", kFloat, {2, 0});
  m.Input("b", kFloat, {0, 2});
  m.Input("x", kFloat, {3});
  m.Floats("c", {2}, {3, 4});
  m.Node("MatMul", {"a", "b"}, {"p"});
  m.Node("Add", {"p", "c"}, {"y"});
  m.Node("NonZero", {"x"}, {"places"});
  m.Node("Transpose", {"places"}, {"rows"});
  m.Node("GatherND", {"x", "rows"}, {"g"});
  m.Node("ReduceSum", {"g"}, {"s"});
  m.Node("Add", {"s", "c"}, {"z"});
  m.Output("y");
  m.Output("z");
  const auto array = [](std::vector<int64_t> shape) { return NDArray(DataType::Float(32), std::move(shape)); };
  OnnxModel::Inputs inputs;
  inputs["a"] = {Item::Kind::kTensor, {array({2, 0})}};
  inputs["b"] = {Item::Kind::kTensor, {array({0, 2})}};
  inputs["x"] = {Item::Kind::kTensor, {array({3})}};
  for (int64_t i = 0; i < 3; ++i) inputs["x"].arrays[0].Set(i, 0);
  for (const bool interpret : {true, false}) {
    const auto model = OnnxModel::Load(*m.File(), {.executor = {.interpret = interpret}});
    ASSERT_TRUE(model.ok()) << model.status();
    const auto results = (*model)->Run(inputs);
    ASSERT_TRUE(results.ok()) << results.status();
    const NDArray &y = (*results)[0].arrays[0], &z = (*results)[1].arrays[0];
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.Get(i), i % 2 == 0 ? 3 : 4) << i;
    for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(z.Get(i), i % 2 == 0 ? 3 : 4) << i;
  }
}

TEST(OperatorValues, WrappedAroundWhatNegativePadsLeave) {
  ExpectNear(Values(R"(op_type: "Pad" output: "y" attribute { name: "mode" type: STRING s: "wrap" })",
                    {{"x", kFloat, {1, 4}, {1, 2, 3, 4}}, {"p", kLong, {4}, {0, -1, 0, 4}}}, 19),
             {2, 3, 4, 2, 3, 4, 2});
}

// What is beyond the largest float of eight bits becomes that one, unless the node says otherwise.
TEST(OperatorValues, CastsToFloatsOfEightBits) {
  constexpr int kE4m3 = 17, kE5m2 = 19;  // as ONNX numbers them
  const auto values = [](int to, int saturate) {
    return Values(R"(op_type: "Cast" output: "y" attribute { name: "saturate" type: INT i: )" +
                      std::to_string(saturate) + " } attribute { name: \"to\" type: INT i: " + std::to_string(to) +
                      " }",
                  {{"x", kFloat, {4}, {1.1, 500, -1e9, 16}}}, 19);
  };
  ExpectNear(values(kE4m3, 1), {1.125, 448, -448, 16});
  ExpectNear(values(kE5m2, 1), {1, 512, -57344, 16});
  EXPECT_TRUE(std::isnan(values(kE4m3, 0)[1]));
  EXPECT_TRUE(std::isinf(values(kE5m2, 0)[2]));
}

TEST(OperatorValues, CoupledGatesOfAnLstm) {
  ExpectNear(Values(R"(op_type: "LSTM" output: "all" output: "y" attribute { name: "hidden_size" type: INT i: 1 }
                       attribute { name: "input_forget" type: INT i: 1 })",
                    {{"x", kFloat, {2, 1, 1}, {1, -2}},
                     {"w", kFloat, {1, 4, 1}, {0.5, -1, 2, 0.25}},
                     {"r", kFloat, {1, 4, 1}, {1, 0.5, -0.5, 2}}}),
             {0.0005162996});
}

TEST(OperatorValues, OperatorsOnQuantizedTensors) {
  ExpectNear(Values(R"(op_type: "QLinearConcat" domain: "com.microsoft" output: "y"
                       attribute { name: "axis" type: INT i: 0 })",
                    {{"ys", kFloat, {}, {0.5}},
                     {"yz", kByte, {}, {100}},
                     {"a", kByte, {3}, {0, 7, 255}},
                     {"as", kFloat, {}, {0.25}},
                     {"az", kByte, {}, {3}},
                     {"b", kByte, {2}, {1, 200}},
                     {"bs", kFloat, {}, {2}},
                     {"bz", kByte, {}, {50}}}),
             {98, 102, 226, 0, 255});
  ExpectNear(Values(R"(op_type: "QLinearGlobalAveragePool" domain: "com.microsoft" output: "y")",
                    {{"x", kByte, {1, 2, 1, 3}, {0, 7, 255, 20, 1, 2}},
                     {"xs", kFloat, {}, {0.25}},
                     {"xz", kByte, {}, {3}},
                     {"ys", kFloat, {}, {0.1}},
                     {"yz", kByte, {}, {10}}}),
             {221, 22});
  ExpectNear(Values(R"(op_type: "QLinearGlobalAveragePool" domain: "com.microsoft" output: "y"
                       attribute { name: "channels_last" type: INT i: 1 })",
                    {{"x", kByte, {1, 1, 3, 2}, {0, 20, 7, 1, 255, 2}},
                     {"xs", kFloat, {}, {0.25}},
                     {"xz", kByte, {}, {3}},
                     {"ys", kFloat, {}, {0.1}},
                     {"yz", kByte, {}, {10}}}),
             {221, 22});
  ExpectNear(Values(R"(op_type: "MatMulInteger" output: "y")", {{"a", kByte, {2, 1, 2}, {1, 2, 3, 4}},
                                                                {"b", kByte, {2, 2, 1}, {5, 6, 7, 8}},
                                                                {"", 0, {}, {}},
                                                                {"z", kByte, {2, 1, 1}, {1, 2}}}),
             {14, 39});
  ExpectNear(Values(R"(op_type: "DynamicQuantizeLinear" output: "q" output: "s")", {{"x", kFloat, {3}, {0, 0, 0}}}),
             {1});
}

// Two rows of 20 weights in blocks of 16; bytes hold the weight of lower number in the lower half.
TEST(OperatorValues, ProductsWithWeightsOfFourBits) {
  std::vector<double> a(20), b(32);
  a[0] = 1, a[1] = 2, a[16] = 1, a[17] = -1;
  b[0] = 0x21, b[8] = 0x0b, b[16] = 0xf3, b[24] = 0x90;
  const std::string node = R"(op_type: "MatMulNBits" domain: "com.microsoft" output: "y"
                              attribute { name: "K" type: INT i: 20 } attribute { name: "N" type: INT i: 2 }
                              attribute { name: "bits" type: INT i: 4 }
                              attribute { name: "block_size" type: INT i: 16 })";
  std::vector<Input> inputs = {
      {"a", kFloat, {1, 20}, a}, {"b", kByte, {2, 2, 8}, b}, {"s", kFloat, {2, 2}, {1, 2, 0.5, 4}}};
  ExpectNear(Values(node, inputs), {3, -31.5});
  inputs.push_back({"z", kByte, {2, 1}, {0x31, 0x52}});
  ExpectNear(Values(node, inputs), {24, -22.5});
}

// Activations of a block are multiples of 1 / 127 of its largest magnitude: 127, -64, 1, and 127, -63.
TEST(OperatorValues, ProductsOfQuantizedBlocks) {
  std::vector<double> a(20), b(32);
  a[0] = 127, a[1] = -64.4, a[2] = 0.6, a[16] = 0.254, a[17] = -0.126;
  b[0] = 0x21, b[1] = 0x0f, b[8] = 0x0b, b[16] = 0xf3, b[24] = 0x90;
  const std::string node = R"(op_type: "MatMulNBits" domain: "com.microsoft" output: "y"
                              attribute { name: "K" type: INT i: 20 } attribute { name: "N" type: INT i: 2 }
                              attribute { name: "bits" type: INT i: 4 }
                              attribute { name: "accuracy_level" type: INT i: 4 }
                              attribute { name: "block_size" type: INT i: 16 })";
  std::vector<Input> inputs = {
      {"a", kFloat, {1, 20}, a}, {"b", kByte, {2, 2, 8}, b}, {"s", kFloat, {2, 2}, {0.125, 0.25, 0.0625, 0.5}}};
  // The sums of the first block, and those of the second in steps of 0.002.
  ExpectNear(Values(node, inputs), {(-498 + 885 * 2 * 0.002) / 8, (-1091 * 0.5 - 1079 * 4 * 0.002) / 8});
  inputs.push_back({"z", kByte, {2, 1}, {0x31, 0x52}});
  ExpectNear(Values(node, inputs), {(-50 + 1205 * 2 * 0.002) / 8, (-707 * 0.5 - 887 * 4 * 0.002) / 8});
}

TEST(OperatorValues, RotatedHeads) {
  const auto values = [](int interleaved) {
    return Values(R"(op_type: "RotaryEmbedding" domain: "com.microsoft" output: "y"
                     attribute { name: "interleaved" type: INT i: )" +
                      std::to_string(interleaved) + " }",
                  {{"x", kFloat, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}},
                   {"p", kLong, {1}, {1}},
                   {"c", kFloat, {3, 2}, {1, 1, 0.5, 0.25, 0, 1}},
                   {"s", kFloat, {3, 2}, {0, 0, 1, 2, 1, 0}}});
  };
  ExpectNear(values(0), {-2.5, -7.5, 2.5, 5, -7, 6, 5, 8});
  ExpectNear(values(1), {-1.5, 2, -7.25, 7, -6, 5, 7, 8});
}

TEST(OperatorValues, FusedOperatorsOfLanguageModels) {
  ExpectNear(Values(R"(op_type: "FusedMatMul" domain: "com.microsoft" output: "y"
                       attribute { name: "transBatchA" type: INT i: 1 })",
                    {{"a", kFloat, {3, 2, 1}, {1, 2, 3, 4, 5, 6}}, {"b", kFloat, {2, 1, 1}, {10, 100}}}),
             {10, 30, 50, 200, 400, 600});
  ExpectNear(Values(R"(op_type: "BiasGelu" domain: "com.microsoft" output: "y")",
                    {{"x", kFloat, {3}, {1, -2, 0.5}}, {"b", kFloat, {3}, {0.5, 1, -3}}}),
             {1.39978921, -0.15865526, -0.0155241});
  ExpectNear(Values(R"(op_type: "QuickGelu" domain: "com.microsoft" output: "y")", {{"x", kFloat, {3}, {1, -2, 0.5}}}),
             {0.84579575, -0.06434137, 0.35038841});
  ExpectNear(Values(R"(op_type: "SkipSimplifiedLayerNormalization" domain: "com.microsoft" output: "y")",
                    {{"x", kFloat, {1, 1, 4}, {1, 2, 3, 4}},
                     {"s", kFloat, {1, 1, 4}, {0, 0, 1, -1}},
                     {"g", kFloat, {4}, {1, 2, 1, 2}}}),
             {0.36514837, 1.46059346, 1.46059346, 2.19089007});
}

}  // namespace
}  // namespace tilewright::graph
