#include "graph/fusion/mixed_precision.h"

#include <cmath>
#include <map>
#include <string>

#include "graph/executor/onnx_model.h"
#include "graph/ir/functor.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// A model of square products; each node's value has the node's name.
class PrecisionModel {
 public:
  explicit PrecisionModel(const std::vector<int>& input = {8, 16}) {
    writer_.Input("x", TensorProto::FLOAT, {input.begin(), input.end()});
    const NDArray x(DataType::Float(32), {input.begin(), input.end()});
    FillUniform(x, 3);
    inputs_["x"] = {Item::Kind::kTensor, {x}};
  }
  ModelWriter& writer() { return writer_; }
  std::string Weights(const std::vector<int64_t>& dims, float scale = 1) {
    const NDArray array(DataType::Float(32), dims);
    FillUniform(array, static_cast<uint64_t>(++count_));
    const auto* data = static_cast<const float*>(array.data());
    std::vector<float> values(data, data + array.size());
    for (float& value : values) value *= scale;
    const std::string name = "w" + std::to_string(count_);
    writer_.Floats(name, dims, values);
    return name;
  }
  void Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    writer_.Node(op, inputs, {output});
  }

  absl::StatusOr<std::unique_ptr<OnnxModel>> Load(const PassContext& passes) {
    return OnnxModel::Load(*writer_.File(), {.executor = {.interpret = true}, .passes = passes});
  }
  // The largest error of any output at this precision, beside the largest number of it.
  double Error(Precision precision) {
    const auto plain = Load({.opt_level = 0}), narrow = Load({.precision = precision, .check = true});
    if (!plain.ok() || !narrow.ok()) {
      ADD_FAILURE() << plain.status() << narrow.status();
      return 1;
    }
    const auto expected = (*plain)->Run(inputs_), actual = (*narrow)->Run(inputs_);
    if (!expected.ok() || !actual.ok()) {
      ADD_FAILURE() << expected.status() << actual.status();
      return 1;
    }
    double error = 0;
    for (size_t i = 0; i < expected->size(); ++i) {
      const NDArray &a = (*expected)[i].arrays[0], &b = (*actual)[i].arrays[0];
      EXPECT_EQ(a.dtype(), b.dtype());
      double largest = 0;
      for (int64_t e = 0; e < a.size(); ++e) largest = std::max(largest, std::abs(a.Get(e)));
      error = std::max(error, MaxError(a, b).max_abs / largest);
    }
    return error;
  }
  // Types of the results of programs, by the name of the node; kernels are not joined.
  std::map<std::string, DataType> Types(Precision precision) {
    const auto model = Load({.disabled = {"FuseKernels"}, .precision = precision, .check = true});
    if (!model.ok()) {
      ADD_FAILURE() << model.status();
      return {};
    }
    struct Collector : Visitor {
      std::map<std::string, DataType> types;
      void VisitBinding(const Binding& binding) override {
        const auto* type = dyn_cast<TensorTypeNode>(binding.var->type);
        const std::string& name = binding.var->name;  // the writer's name of the node
        if (type != nullptr && name.starts_with("node_")) types[name.substr(5)] = type->dtype;
      }
    } collector;
    for (const ModuleEntry& entry : (*model)->module().entries()) {
      if (entry.function) collector.VisitFunction(entry.function);
    }
    return collector.types;
  }

 private:
  ModelWriter writer_{17};
  OnnxModel::Inputs inputs_;
  int count_ = 0;
};

constexpr DataType kF32 = DataType::Float(32), kBF16 = DataType::BFloat16();

TEST(MixedPrecision, ProductsAndWhatFollowsThemHave16Bits) {
  PrecisionModel m;
  m.Node("MatMul", {"x", m.Weights({16, 16})}, "product");
  m.Node("Relu", {"product"}, "relu");
  m.Node("Exp", {"relu"}, "exp");          // read by a sum alone
  m.Node("Softmax", {"relu"}, "softmax");  // read by a product
  m.Node("Add", {"exp", "relu"}, "sum");   // of which one part has 32 bits
  m.Node("MatMul", {"softmax", m.Weights({16, 16})}, "y");
  m.Node("Sqrt", {"sum"}, "z");
  m.writer().Output("y");
  m.writer().Output("z");
  const auto types = m.Types(Precision::kBFloat16);
  const std::map<std::string, DataType> expected = {
      {"product", kBF16}, {"relu", kBF16}, {"exp", kF32}, {"softmax", kBF16}, {"sum", kF32}, {"y", kF32}, {"z", kF32}};
  for (const auto& [name, type] : expected) {
    ASSERT_TRUE(types.contains(name)) << name;
    EXPECT_EQ(types.at(name), type) << name;
  }
  EXPECT_LT(m.Error(Precision::kBFloat16), 2e-2);
  EXPECT_LT(m.Error(Precision::kFloat16), 2e-3);
  EXPECT_GT(m.Error(Precision::kFloat16), 1e-6);
}

TEST(MixedPrecision, ViewsHaveTheTypeOfWhatTheyShow) {
  PrecisionModel m;
  m.writer().Int64s("shape", {4, 32});
  m.Node("MatMul", {"x", m.Weights({16, 16})}, "product");
  m.Node("Reshape", {"product", "shape"}, "view");
  m.Node("MatMul", {"view", m.Weights({32, 16})}, "second");
  m.Node("Reshape", {"second", "shape2"}, "y");  // a result: what it shows keeps its type
  m.writer().Int64s("shape2", {8, 8});
  m.writer().Output("y");
  const auto types = m.Types(Precision::kBFloat16);
  EXPECT_EQ(types.at("product"), kBF16);
  EXPECT_EQ(types.at("second"), kF32);
  EXPECT_LT(m.Error(Precision::kBFloat16), 2e-2);
}

// Such weights are infinite in float16.
TEST(MixedPrecision, ConstantsThatAreTooLargeStayAsTheyAre) {
  PrecisionModel m;
  m.Node("MatMul", {"x", m.Weights({16, 16}, 1e6F)}, "large");
  m.Node("Mul", {"large", "small"}, "scaled");
  m.writer().Floats("small", {16}, std::vector<float>(16, 1e-6F));
  m.Node("MatMul", {"scaled", m.Weights({16, 16})}, "y");
  m.writer().Output("y");
  EXPECT_LT(m.Error(Precision::kBFloat16), 2e-2);
}

// A row that is masked as a whole has equal numbers, not infinite ones, which softmax would make NaN of. The products
// read what the masks lead to as well.
TEST(MixedPrecision, WhatLargeConstantsFlowIntoHas32Bits) {
  PrecisionModel m;
  onnx::TensorProto* mask = m.writer().graph().add_initializer();
  mask->set_name("mask");
  mask->set_data_type(TensorProto::BOOL);
  for (const int64_t dim : {8, 1}) mask->add_dims(dim);
  for (int row = 0; row < 8; ++row) mask->add_int32_data(row % 3 > 0);
  m.writer().Floats("lowest", {}, {-3.4028e38F});
  m.writer().Floats("row", {16}, std::vector<float>(16, -3.4028e38F));
  m.writer().Floats("minus_infinity", {}, {-INFINITY});
  m.writer().Floats("tenth", {}, {0.1F});
  m.writer().Int64s("shape", {4, 32});
  m.writer().Int64s("back", {8, 16});
  m.Node("MatMul", {"x", m.Weights({16, 16})}, "scores");
  m.Node("Where", {"mask", "scores", "lowest"}, "number");
  m.Node("Where", {"mask", "scores", "row"}, "constant");
  m.Node("Where", {"mask", "scores", "minus_infinity"}, "infinite");
  m.Node("Clip", {"infinite", "lowest"}, "clipped");
  m.Node("Mul", {"number", "tenth"}, "scaled");
  m.Node("Reshape", {"scaled", "shape"}, "view");
  m.Node("Reshape", {"view", "back"}, "moved");
  const std::string weights = m.Weights({16, 16});
  for (const std::string masked : {"number", "constant", "clipped", "moved"}) {
    m.Node("Softmax", {masked}, masked + "_softmax");
    m.Node("MatMul", {masked + "_softmax", weights}, masked + "_y");
    m.writer().Output(masked + "_y");
  }
  m.Node("MatMul", {"infinite", weights}, "wanted");
  m.Node("ReduceMax", {"wanted"}, "z");
  m.writer().Output("z");
  const auto types = m.Types(Precision::kBFloat16);
  for (const std::string wide : {"number", "constant", "clipped", "scaled"}) EXPECT_EQ(types.at(wide), kF32) << wide;
  EXPECT_EQ(types.at("infinite"), kBF16);
  EXPECT_LT(m.Error(Precision::kBFloat16), 2e-2);
  EXPECT_LT(m.Error(Precision::kFloat16), 2e-3);
}

TEST(MixedPrecision, ConvolutionsWithPadding) {
  PrecisionModel m({1, 3, 9, 9});
  const auto pads = [&](const std::string& x, const std::string& w, const std::string& y) {
    onnx::NodeProto* node = m.writer().Node("Conv", {x, w}, {y});
    auto* attribute = node->add_attribute();
    attribute->set_name("pads");
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int i = 0; i < 4; ++i) attribute->add_ints(1);
  };
  pads("x", m.Weights({8, 3, 3, 3}), "first");
  m.Node("Relu", {"first"}, "relu");
  pads("relu", m.Weights({8, 8, 3, 3}), "second");
  m.Node("Add", {"relu", "second"}, "sum");
  m.Node("GlobalAveragePool", {"sum"}, "y");
  m.writer().Output("y");
  const auto types = m.Types(Precision::kFloat16);
  EXPECT_EQ(types.at("relu"), DataType::Float(16));
  EXPECT_LT(m.Error(Precision::kBFloat16), 2e-2);
  EXPECT_LT(m.Error(Precision::kFloat16), 2e-3);
}

TEST(MixedPrecision, ModelsWithoutProductsStayAsTheyAre) {
  PrecisionModel m;
  m.Node("Tanh", {"x"}, "tanh");
  m.Node("Mul", {"tanh", "x"}, "y");
  m.writer().Output("y");
  EXPECT_EQ(m.Error(Precision::kBFloat16), 0);
}

}  // namespace
}  // namespace tilewright::graph
