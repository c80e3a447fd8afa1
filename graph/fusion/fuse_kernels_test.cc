#include "graph/fusion/fuse_kernels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>

#include "absl/strings/match.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/structural.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "target/target.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// Models of float tensors, written node by node.
class Graph {
 public:
  explicit Graph(int64_t opset = 17) : writer_(opset) {}

  std::string Input(const std::vector<int>& dims) {
    const std::string name = Name();
    std::vector<ModelWriter::Dim> all(dims.begin(), dims.end());
    writer_.Input(name, TensorProto::FLOAT, all);
    NDArray array(DataType::Float(32), {dims.begin(), dims.end()});
    FillUniform(array, static_cast<uint64_t>(count_));
    inputs_[name] = {Item::Kind::kTensor, {array}};
    return name;
  }
  std::string Weights(const std::vector<int64_t>& dims) {
    NDArray array(DataType::Float(32), dims);
    FillUniform(array, static_cast<uint64_t>(count_) + 100);
    const auto* data = static_cast<const float*>(array.data());
    const std::string name = Name();
    writer_.Floats(name, dims, {data, data + array.size()});
    return name;
  }
  std::string Number(float value) {
    const std::string name = Name();
    writer_.Floats(name, {}, {value});
    return name;
  }
  std::string Node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, std::vector<int64_t>>>& ints = {}) {
    const std::string name = Name();
    onnx::NodeProto* node = writer_.Node(op, inputs, {name});
    for (const auto& [key, values] : ints) {
      auto* attribute = node->add_attribute();
      attribute->set_name(key);
      attribute->set_type(key == "axis" ? onnx::AttributeProto::INT : onnx::AttributeProto::INTS);
      if (key == "axis") attribute->set_i(values[0]);
      for (int64_t value : values) attribute->add_ints(value);
    }
    return name;
  }
  std::string Reshape(const std::string& x, const std::vector<int64_t>& shape) {
    const std::string name = Name();
    writer_.Int64s(name, shape);
    return Node("Reshape", {x, name});
  }
  // What is [batch, sequence, heads * size], by heads, in the given order.
  std::string Heads(const std::string& x, int64_t heads, int64_t size, const std::vector<int64_t>& order) {
    return Node("Transpose", {Reshape(x, {0, 0, heads, size})}, {{"perm", order}});
  }
  // Mean and variance by two reductions, as exporters write it.
  std::string LayerNorm(const std::string& x, int64_t width) {
    const std::string mean = Node("ReduceMean", {x}, {{"axes", {-1}}}), difference = Node("Sub", {x, mean});
    const std::string variance = Node("ReduceMean", {Node("Pow", {difference, Number(2)})}, {{"axes", {-1}}});
    const std::string deviation = Node("Sqrt", {Node("Add", {variance, Number(1e-5f)})});
    const std::string scaled = Node("Mul", {Node("Div", {difference, deviation}), Weights({width})});
    return Node("Add", {scaled, Weights({width})});
  }
  std::string Gelu(const std::string& x) {
    const std::string half = Node("Mul", {x, Number(0.5f)});
    const std::string erf = Node("Erf", {Node("Div", {x, Number(std::sqrt(2.0f))})});
    return Node("Mul", {half, Node("Add", {erf, Number(1)})});
  }

  // The graph as it was imported.
  GraphModule Imported(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) writer_.Output(output);
    const auto plain = OnnxModel::Load(*writer_.File(), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
    EXPECT_TRUE(plain.ok()) << plain.status();
    return plain.ok() ? (*plain)->module() : GraphModule();
  }

  // How many kernels the outputs take; they are the same with and without fusion.
  int Kernels(const std::vector<std::string>& outputs, FusionReport* report = nullptr) {
    for (const std::string& output : outputs) writer_.Output(output);
    const auto plain = OnnxModel::Load(*writer_.File(), {.passes = {.opt_level = 0}});
    const auto fused = OnnxModel::Load(*writer_.File(), {.passes = {.check = true}, .report = report});
    if (!plain.ok() || !fused.ok()) {
      ADD_FAILURE() << plain.status() << fused.status();
      return 0;
    }
    const auto expected = (*plain)->Run(inputs_), actual = (*fused)->Run(inputs_);
    if (!expected.ok() || !actual.ok()) {
      ADD_FAILURE() << expected.status() << actual.status();
      return 0;
    }
    for (size_t i = 0; i < expected->size(); ++i) {
      const NDArray &a = (*expected)[i].arrays[0], &b = (*actual)[i].arrays[0];
      EXPECT_EQ(a.shape(), b.shape());
      double largest = 0, error = 0;
      for (int64_t e = 0; e < a.size(); ++e) {
        largest = std::max(largest, std::abs(a.Get(e)));
        error = std::max(error, std::abs(a.Get(e) - b.Get(e)));
      }
      EXPECT_LE(error, 2e-5 * largest);
    }
    return CountProgramCalls((*fused)->module());
  }

 private:
  std::string Name() { return "v" + std::to_string(count_++); }

  ModelWriter writer_;
  OnnxModel::Inputs inputs_;
  int count_ = 0;
};

TEST(FuseKernels, ChainsOfElementwiseOperatorsWithBroadcasts) {
  Graph g;
  const std::string x = g.Input({64, 96}), row = g.Weights({96}), column = g.Input({64, 1});
  const std::string sum = g.Node("Add", {g.Node("Mul", {x, row}), column});
  EXPECT_EQ(g.Kernels({g.Node("Sigmoid", {g.Node("Sub", {g.Node("Tanh", {sum}), row})})}), 1);
}

// An unrolled loop of pointwise steps that is longer than a kernel may be.
TEST(FuseKernels, ChainsThatRepeatAreCutIntoEqualKernels) {
  Graph g;
  std::string value = g.Input({8, 16});
  const std::string steps[] = {"Tanh", "Neg", "Sigmoid", "Abs", "Softsign", "Softplus", "Neg"};
  constexpr size_t kTurns = 20, kTurnsOfKernel = 9;
  for (size_t i = 0; i < kTurns * std::size(steps); ++i) value = g.Node(steps[i % std::size(steps)], {value});
  FusionReport report;
  EXPECT_EQ(g.Kernels({value}, &report), 3);
  ASSERT_EQ(report.kernels.size(), 3);
  EXPECT_EQ(report.kernels[0].parts.size(), kTurnsOfKernel * std::size(steps));
  EXPECT_EQ(report.kernels[0].parts, report.kernels[1].parts);
  EXPECT_EQ(report.kernels[2].parts.size(), (kTurns - 2 * kTurnsOfKernel) * std::size(steps));
}

// What a kernel takes as a whole is not cut.
TEST(FuseKernels, ShortChainsThatRepeatAreOneKernel) {
  Graph g;
  std::string value = g.Input({8, 16});
  for (int i = 0; i < 60; ++i) value = g.Node(i % 30 < 15 ? "Tanh" : "Neg", {value});
  EXPECT_EQ(g.Kernels({value}), 1);
}

TEST(FuseKernels, LayerNormIsOneKernelHoweverItIsWritten) {
  Graph decomposed;
  EXPECT_EQ(decomposed.Kernels({decomposed.LayerNorm(decomposed.Input({128, 256}), 256)}), 1);
  Graph batched;
  EXPECT_EQ(batched.Kernels({batched.LayerNorm(batched.Input({2, 60, 128}), 128)}), 1);
  Graph whole;
  const std::string x = whole.Input({128, 256});
  EXPECT_EQ(whole.Kernels({whole.Node("LayerNormalization", {x, whole.Weights({256}), whole.Weights({256})})}), 1);
}

TEST(FuseKernels, ResidualAndNormAreOneKernel) {
  Graph g;
  const std::string sum = g.Node("Add", {g.Input({1, 128, 256}), g.Input({1, 128, 256})});
  EXPECT_EQ(g.Kernels({g.LayerNorm(sum, 256)}), 1);
}

TEST(FuseKernels, AResidualThatIsReadAgainIsStillWritten) {
  Graph g;
  const std::string sum = g.Node("Add", {g.Input({128, 256}), g.Input({128, 256})});
  const std::string norm = g.LayerNorm(sum, 256);
  EXPECT_LE(g.Kernels({norm, g.Node("Add", {sum, norm})}), 2);
}

TEST(FuseKernels, ScaleMaskAndSoftmaxAreOneKernel) {
  Graph g;
  const std::string scaled = g.Node("Div", {g.Input({4, 64, 64}), g.Number(8)});
  const std::string masked = g.Node("Add", {scaled, g.Input({1, 64})});
  EXPECT_EQ(g.Kernels({g.Node("Softmax", {masked}, {{"axis", {-1}}})}), 1);
}

TEST(FuseKernels, ProductsTakeTheirEpilogues) {
  Graph gelu;
  const std::string product = gelu.Node("MatMul", {gelu.Input({64, 128}), gelu.Weights({128, 256})});
  EXPECT_EQ(gelu.Kernels({gelu.Gelu(gelu.Node("Add", {product, gelu.Weights({256})}))}), 1);
  Graph residual;
  const std::string other = residual.Node("MatMul", {residual.Input({64, 128}), residual.Weights({128, 256})});
  const std::string biased = residual.Node("Add", {other, residual.Weights({256})});
  EXPECT_EQ(residual.Kernels({residual.Node("Add", {biased, residual.Input({64, 256})})}), 1);
}

TEST(FuseKernels, ConvolutionsTakeBiasResidualAndActivation) {
  Graph g;
  const std::string x = g.Input({1, 16, 12, 12});
  const std::string conv = g.Node("Conv", {x, g.Weights({16, 16, 3, 3}), g.Weights({16})}, {{"pads", {1, 1, 1, 1}}});
  EXPECT_EQ(g.Kernels({g.Node("Relu", {g.Node("Add", {conv, x})})}), 1);
}

// Windows of one element: the loops over them are gone, the reduction is not.
TEST(FuseKernels, PointwiseConvolutionsTakeTheirEpilogues) {
  for (const int64_t channels : {16, 1}) {
    Graph g;
    const std::string x = g.Input({1, static_cast<int>(channels), 12, 12}), residual = g.Input({1, 32, 12, 12});
    const std::string conv = g.Node("Conv", {x, g.Weights({32, channels, 1, 1}), g.Weights({32})});
    FusionReport report;
    // The graph's results and inputs are in the order of their types: a copy on both sides is right.
    EXPECT_LE(g.Kernels({g.Node("Relu", {g.Node("Add", {conv, residual})})}, &report), 3);
    EXPECT_EQ(ToString(report).find("not scheduled"), std::string::npos) << ToString(report);
  }
}

TEST(FuseKernels, TwoProductsStayTwoKernels) {
  Graph g;
  const std::string first = g.Node("Relu", {g.Node("MatMul", {g.Input({64, 128}), g.Weights({128, 128})})});
  FusionReport report;
  EXPECT_EQ(g.Kernels({g.Node("MatMul", {first, g.Weights({128, 64})})}, &report), 2);
  EXPECT_NE(ToString(report).find("each computes products or windows"), std::string::npos) << ToString(report);
}

// Two products with a softmax between, as exporters write attention: heads are views, keys are transposed.
// With 1,024 keys every CPU gains by the join; at 128 it depends on the CPU. So it does for the first and the last
// transpose, which may stay kernels.
TEST(FuseKernels, ProductsOfAttentionAreOneKernel) {
  for (const bool masked : {false, true}) {
    Graph g;
    const std::vector<int> shape = {1, 1024, 4 * 64};
    const std::string queries = g.Heads(g.Input(shape), 4, 64, {0, 2, 1, 3});
    const std::string keys = g.Heads(g.Input(shape), 4, 64, {0, 2, 3, 1});
    const std::string values = g.Heads(g.Input(shape), 4, 64, {0, 2, 1, 3});
    std::string scores = g.Node("Div", {g.Node("MatMul", {queries, keys}), g.Number(8)});
    if (masked) scores = g.Node("Add", {scores, g.Input({1, 1, 1, 1024})});
    const std::string weights = g.Node("Softmax", {scores}, {{"axis", {-1}}});
    const std::string heads_last = g.Node("Transpose", {g.Node("MatMul", {weights, values})}, {{"perm", {0, 2, 1, 3}}});
    FusionReport report;
    EXPECT_LE(g.Kernels({g.Reshape(heads_last, {0, 0, 4 * 64})}, &report), 3) << ToString(report);
    const auto products = [](const FusionReport::Kernel& kernel) {
      return std::ranges::count_if(kernel.parts, [](const auto& part) { return absl::StrContains(part, "matmul"); });
    };
    const auto joined = std::ranges::max_element(report.kernels, {}, products);
    ASSERT_NE(joined, report.kernels.end());
    EXPECT_EQ(products(*joined), 2) << ToString(report);
    EXPECT_EQ(joined->nests, 1) << ToString(report);
  }
}

// The scale goes into the weights, and a new product takes the place of the first.
TEST(FuseKernels, WhatIsDeadIsNoKernel) {
  Graph g;
  const std::string x = g.Input({64, 128});
  const std::string scaled = g.Node("Mul", {g.Node("MatMul", {x, g.Weights({128, 256})}), g.Weights({256})});
  FusionReport report;
  EXPECT_EQ(g.Kernels({g.Node("Relu", {scaled})}, &report), 1);
  EXPECT_EQ(report.kernels.size(), 1) << ToString(report);
}

// The middle kernel reads the first and feeds the last: these two may not become one without it.
TEST(FuseKernels, NothingLiesBetween) {
  Graph g;
  const std::string x = g.Node("Relu", {g.Input({64, 64})});
  const std::string product = g.Node("MatMul", {x, g.Weights({64, 64})});
  const std::string again = g.Node("MatMul", {product, g.Weights({64, 64})});
  EXPECT_GE(g.Kernels({g.Node("Add", {again, x})}), 2);
}

TEST(FuseKernels, ViewsAreReadThroughAndMayBeOutputs) {
  Graph g;
  const std::string sum = g.Node("Add", {g.Input({2, 30, 64}), g.Weights({64})});
  const std::string view = g.Node("Flatten", {sum});
  EXPECT_EQ(g.Kernels({g.Node("Relu", {view}), view}), 1);
}

// A decision that is kept is repeated without a schedule; one that is not a decision, or of another graph, is made
// again.
TEST(FuseKernels, DecisionsAreKept) {
  Graph g;
  const std::string sum = g.Node("Add", {g.Input({128, 256}), g.Input({128, 256})});
  const std::string product = g.Node("MatMul", {g.LayerNorm(sum, 256), g.Weights({256, 64})});
  const GraphModule module = g.Imported({g.Node("Relu", {g.Node("Add", {product, g.Weights({64})})}), sum});
  OpTable ops;
  AddBasicOps(&ops);
  std::map<std::string, std::string> texts;
  const DecisionStore store = {.load = [&](const std::string& key) -> std::optional<std::string> {
                                 const auto it = texts.find(key);
                                 return it == texts.end() ? std::nullopt : std::optional(it->second);
                               },
                               .store = [&](const std::string& key, const std::string& text) { texts[key] = text; }};
  const auto fuse = [&](size_t* asked) {
    KernelCosts costs(HostTarget());
    auto fused = FuseKernels(module, ops, costs, nullptr, &store);
    EXPECT_TRUE(fused.ok()) << fused.status();
    *asked = costs.size();
    return fused.ok() ? *std::move(fused) : GraphModule();
  };
  size_t asked = 0;
  const GraphModule first = fuse(&asked);
  EXPECT_GT(asked, 0);
  ASSERT_EQ(texts.size(), 1);
  const std::string decision = texts.begin()->second;
  std::string why;
  EXPECT_TRUE(StructuralEqual(first, fuse(&asked), &why)) << why;
  EXPECT_EQ(asked, 0);
  for (const std::string damaged : {"", "no decision", "0-\n", "7-900000 \n", "-3--2 \n", "5-2 \n"}) {
    texts.begin()->second = damaged;
    EXPECT_TRUE(StructuralEqual(first, fuse(&asked), &why)) << damaged << ": " << why;
  }
}

}  // namespace
}  // namespace tilewright::graph
