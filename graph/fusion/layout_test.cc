#include "graph/fusion/layout.h"

#include <cmath>

#include "absl/strings/substitute.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/fusion/fold_scales.h"
#include "graph/ir/functor.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

class Layout : public testing::Test {
 protected:
  Layout() : writer_(17) {}

  std::string Input(const std::vector<int>& dims) {
    const std::string name = Name();
    writer_.Input(name, TensorProto::FLOAT, {dims.begin(), dims.end()});
    const NDArray array(DataType::Float(32), {dims.begin(), dims.end()});
    FillUniform(array, static_cast<uint64_t>(count_));
    inputs_[name] = {Item::Kind::kTensor, {array}};
    return name;
  }
  std::string Weights(const std::vector<int64_t>& dims, double low = -1) {
    const NDArray array(DataType::Float(32), dims);
    FillUniform(array, static_cast<uint64_t>(count_) + 100, low, 1);
    const auto* data = static_cast<const float*>(array.data());
    const std::string name = Name();
    writer_.Floats(name, dims, {data, data + array.size()});
    return name;
  }
  std::string Target(const std::vector<int64_t>& shape) {
    const std::string name = Name();
    writer_.Int64s(name, shape);
    return name;
  }
  using Ints = std::vector<std::pair<std::string, std::vector<int64_t>>>;
  std::string Node(const std::string& op, const std::vector<std::string>& inputs, const Ints& ints = {}) {
    const std::string name = Name();
    onnx::NodeProto* node = writer_.Node(op, inputs, {name});
    for (const auto& [key, values] : ints) {
      auto* attribute = node->add_attribute();
      attribute->set_name(key);
      const bool one = key == "axis" || key == "group" || key == "blocksize";
      attribute->set_type(one ? onnx::AttributeProto::INT : onnx::AttributeProto::INTS);
      if (one) attribute->set_i(values[0]);
      if (!one) attribute->mutable_ints()->Add(values.begin(), values.end());
    }
    return name;
  }
  std::string Conv(const std::string& x, int64_t in, int64_t out, const Ints& ints = {{"pads", {1, 1, 1, 1}}},
                   int64_t groups = 1) {
    Ints all = ints;
    all.push_back({"group", {groups}});
    return Node("Conv", {x, Weights({out, in / groups, 3, 3}), Weights({out})}, all);
  }

  // Runs the model at opt_level 0 and 2; gives the optimized module.
  GraphModule Compare(const std::vector<std::string>& outputs, const std::set<std::string>& disabled = {}) {
    for (const std::string& output : outputs) writer_.Output(output);
    const auto plain = OnnxModel::Load(*writer_.File(), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
    const auto optimized = OnnxModel::Load(
        *writer_.File(), {.executor = {.interpret = true}, .passes = {.disabled = disabled, .check = true}});
    if (!plain.ok() || !optimized.ok()) {
      ADD_FAILURE() << plain.status() << optimized.status();
      return {};
    }
    const auto expected = (*plain)->Run(inputs_), actual = (*optimized)->Run(inputs_);
    if (!expected.ok() || !actual.ok()) {
      ADD_FAILURE() << expected.status() << actual.status();
      return {};
    }
    for (size_t i = 0; i < expected->size(); ++i) {
      const NDArray &a = (*expected)[i].arrays[0], &b = (*actual)[i].arrays[0];
      EXPECT_EQ(a.shape(), b.shape());
      double largest = 1e-30, error = 0;
      for (int64_t e = 0; e < a.size(); ++e) {
        largest = std::max(largest, std::abs(a.Get(e)));
        error = std::max(error, std::abs(a.Get(e) - b.Get(e)));
      }
      EXPECT_LE(error, 2e-5 * largest);
    }
    return (*optimized)->module();
  }

  // How many calls give a result of that shape.
  static int CallsOfShape(const GraphModule& module, const std::vector<int64_t>& shape) {
    class Counter : public Visitor {
     public:
      explicit Counter(std::vector<int64_t> shape) : shape_(std::move(shape)) {}
      int count = 0;

     protected:
      void VisitCallTir(const CallTirNode* call) override {
        const auto* type = dyn_cast<TensorTypeNode>(call->out);
        count += type != nullptr && ConstantExtents(*type->shape) == shape_;
      }

     private:
      const std::vector<int64_t> shape_;
    };
    Counter counter(shape);
    counter.VisitFunction(module.Main());
    return counter.count;
  }

 private:
  std::string Name() { return "v" + std::to_string(count_++); }

  ModelWriter writer_;
  OnnxModel::Inputs inputs_;
  int count_ = 0;
};

TEST_F(Layout, ConvolutionsAndWhatLiesBetweenAreChannelsLast) {
  const std::string a = Node("Relu", {Conv(Input({1, 3, 10, 11}), 3, 8)});
  const std::string pool = Node("MaxPool", {a}, {{"kernel_shape", {2, 2}}, {"strides", {1, 1}}});
  const std::string b = Conv(pool, 8, 12);
  const std::string depthwise = Conv(b, 12, 12, {{"pads", {1, 1, 1, 1}}}, 12);
  const std::string sum = Node("Relu", {Node("Add", {b, depthwise})});
  const std::string mean = Node("Flatten", {Node("GlobalAveragePool", {Conv(sum, 12, 16)})});
  const GraphModule module = Compare({Node("Gemm", {mean, Weights({16, 5})})});
  EXPECT_EQ(CallsOfShape(module, {1, 10, 11, 8}), 1);
  EXPECT_EQ(CallsOfShape(module, {1, 9, 10, 8}), 1);
  EXPECT_EQ(CallsOfShape(module, {1, 9, 10, 12}), 2);
  EXPECT_EQ(CountProgramCalls(module), 5);  // no transpose
}

TEST_F(Layout, OutputsKeepTheOrderOfTheirType) {
  const std::string conv = Conv(Input({2, 4, 6, 6}), 4, 8);
  Compare({conv, Node("Relu", {conv})});
}

TEST_F(Layout, ConcatenationSlicesAndPadding) {
  const std::string x = Input({1, 4, 8, 8});
  const std::string a = Conv(x, 4, 8), b = Conv(x, 4, 4);
  const std::string both = Node("Concat", {a, b}, {{"axis", {1}}});
  const std::string small = Node("DepthToSpace", {both}, {{"blocksize", {2}}});
  Compare({Conv(small, 3, 4), Node("Softmax", {both}, {{"axis", {1}}})});
}

TEST_F(Layout, ExplicitTransposesVanish) {
  const std::string conv = Conv(Input({1, 4, 8, 8}), 4, 16);
  const std::string last = Node("Transpose", {conv}, {{"perm", {0, 2, 3, 1}}});
  const std::string product = Node("MatMul", {last, Weights({16, 16})});
  const std::string first = Node("Transpose", {product}, {{"perm", {0, 3, 1, 2}}});
  Compare({Conv(first, 16, 4)});
}

// A pool of images whose channels come last, as one of its kind and the transposes around it.
TEST_F(Layout, TransposesAroundAPoolVanish) {
  const std::string first = Node("Transpose", {Input({1, 8, 9, 4})}, {{"perm", {0, 3, 1, 2}}});
  const std::string pool = Node("MaxPool", {first}, {{"kernel_shape", {2, 2}}, {"strides", {2, 1}}});
  const std::string last = Node("Transpose", {Node("Relu", {pool})}, {{"perm", {0, 2, 3, 1}}});
  const GraphModule module = Compare({last});
  EXPECT_EQ(CallsOfShape(module, {1, 4, 8, 4}), CountProgramCalls(module));
  EXPECT_EQ(CountProgramCalls(module), 1);
}

TEST_F(Layout, TransposesOnOneSideStay) {
  const std::string first = Node("Transpose", {Input({1, 8, 9, 4})}, {{"perm", {0, 3, 1, 2}}});
  const std::string pool = Node("MaxPool", {first}, {{"kernel_shape", {2, 2}}});
  Compare({pool, Node("Transpose", {pool}, {{"perm", {0, 2, 3, 1}}})});
}

TEST_F(Layout, PositionsThatBecomeOneDimension) {
  const std::string conv = Conv(Input({1, 3, 8, 8}), 3, 16);
  const std::string flat = Node("Reshape", {conv, Target({0, 0, -1})});
  const std::string rows = Node("Transpose", {flat}, {{"perm", {0, 2, 1}}});
  Compare({Node("MatMul", {rows, Weights({16, 8})})});
}

TEST_F(Layout, GroupsStridesAndDilations) {
  const std::string x = Input({2, 8, 9, 9});
  const std::string a = Conv(x, 8, 8, {{"strides", {2, 2}}}, 2);
  const std::string b = Conv(a, 8, 12, {{"dilations", {2, 2}}, {"pads", {2, 2, 2, 2}}});
  Compare({Node("Sigmoid", {b}), Node("GlobalMaxPool", {a})});
}

TEST_F(Layout, ConvolutionsOfOneDimension) {
  const std::string x = Input({2, 4, 20});
  const std::string conv = Node("Conv", {x, Weights({8, 4, 3})}, {{"pads", {1, 1}}});
  Compare({Node("Conv", {Node("Relu", {conv}), Weights({4, 8, 3})})});
}

// Images with zeros between their elements are stored as others are.
TEST_F(Layout, TransposedConvolutionsOfManyChannels) {
  const auto transposed = [&](const std::string& x, const std::vector<int64_t>& weights, const Ints& ints) {
    return Node("ConvTranspose", {x, Weights(weights)}, ints);
  };
  const std::string a = transposed(Input({1, 8, 5, 7}), {8, 12, 3, 3},
                                   {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"output_padding", {1, 1}}});
  const std::string b = transposed(Node("Relu", {a}), {12, 6, 2, 4}, {{"strides", {2, 3}}, {"dilations", {2, 1}}});
  const std::string grouped = transposed(b, {6, 4, 3, 3}, {{"strides", {2, 2}}, {"group", {2}}});
  const GraphModule module = Compare({Node("MaxPool", {grouped}, {{"kernel_shape", {2, 2}}})}, {"FuseKernels"});
  EXPECT_EQ(CallsOfShape(module, {1, 10, 14, 12}), 2);
}

// Rows of many positions are vectors as they are.
TEST_F(Layout, TransposedConvolutionsOfOneAndThreeDimensions) {
  const auto transposed = [&](const std::vector<int>& x, const std::vector<int64_t>& weights, const Ints& ints) {
    return Node("ConvTranspose", {Input(x), Weights(weights)}, ints);
  };
  const GraphModule module = Compare({transposed({2, 6, 9}, {6, 5, 4}, {{"strides", {3}}, {"pads", {1, 2}}}),
                                      transposed({1, 4, 3, 5, 4}, {4, 7, 2, 2, 3}, {{"strides", {2, 1, 2}}})},
                                     {"FuseKernels"});
  EXPECT_EQ(CallsOfShape(module, {2, 5, 25}), 1);
  EXPECT_EQ(CallsOfShape(module, {1, 6, 6, 9, 7}), 1);
}

TEST_F(Layout, BatchNormalizationGoesIntoTheWeights) {
  const std::string conv = Node("Conv", {Input({1, 4, 8, 8}), Weights({8, 4, 3, 3})});
  const std::string norm =
      Node("BatchNormalization", {conv, Weights({8}), Weights({8}), Weights({8}), Weights({8}, 0.5)});
  const GraphModule module = Compare({Node("Relu", {norm})}, {"FuseKernels"});
  // The convolution, what is left of the norm (its term), and the activation; one copy back.
  EXPECT_LE(CountProgramCalls(module), 4);
}

TEST_F(Layout, ScalesOfSharedWeightsAndSharedResults) {
  const std::string w = Weights({8, 4, 3, 3}), x = Input({1, 4, 8, 8});
  const std::string a = Node("Conv", {x, w}), b = Node("Conv", {x, w, Weights({8})});
  const std::string scaled = Node("Mul", {b, Weights({1, 8, 1, 1})});
  Compare({a, scaled, Node("Mul", {a, Weights({8, 1, 1})})});
}

TEST_F(Layout, ScalesAfterProducts) {
  const std::string product = Node("MatMul", {Input({6, 16}), Weights({16, 8})});
  Compare({Node("Add", {Node("Mul", {product, Weights({8})}), Weights({8})})});
}

// Channels in groups: instructions for bytes want those of a group side by side, others take long rows. Images that
// nothing pads stay as they are.
TEST(LayoutForm, GroupsOfChannelsOfBytes) {
  const auto wanted = [](const char* image, const char* weights, const char* sums, int of_group, bool padded) {
    constexpr const char* kPadding = R"(
    P = T.alloc_buffer((1, 32, 20, 20), "$0")
    for n, c, y, x in T.grid(1, 32, 20, 20):
        with T.block("P"):
            vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
            P[vn, vc, vy, vx] = T.if_then_else(1 <= vx, X[vn, vc, vy, vx], T.Cast("$0", 0))
)";
    return LayoutFormOf(ParseFunctionOrDie(absl::Substitute(
                            R"(
@T.prim_func
def main(X: T.Buffer((1, 32, 20, 20), "$0"), W: T.Buffer((32, $3, 3, 3), "$1"), Y: T.Buffer((1, 32, 18, 18), "$2")):
$4
    for n, o, y, x, c, r, s in T.grid(1, 32, 18, 18, $3, 3, 3):
        with T.block("Y"):
            vn, vo, vy, vx, vc, vr, vs = T.axis.remap("SSSSRRR", [n, o, y, x, c, r, s])
            with T.init():
                Y[vn, vo, vy, vx] = T.Cast("$2", 0)
            Y[vn, vo, vy, vx] += T.Cast("$2", $5[vn, vo // $3 * $3 + vc, vy + vr, vx + vs]) * T.Cast("$2", W[vo, vc, vr, vs])
)",
                            image, weights, sums, of_group, padded ? absl::Substitute(kPadding, image) : "",
                            padded ? "P" : "X")))
        .wants_channels_last;
  };
  EXPECT_TRUE(wanted("uint8", "int8", "int32", 8, true));
  EXPECT_FALSE(wanted("uint8", "int8", "int32", 8, false));
  EXPECT_FALSE(wanted("uint8", "int8", "int32", 1, true));
  EXPECT_FALSE(wanted("float32", "float32", "float32", 8, true));
}

// Values [batch, heads, keys, depth] have the dimensions of the result [batch, rows, heads, depth] for images, and the
// other operand depends on the rows, a "channel": but also on the heads.
TEST(LayoutForm, SumsOfAttentionAreNotConvolutions) {
  const LayoutForm form = LayoutFormOf(ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((1, 4, 16, 24), "float32"), V: T.Buffer((1, 2, 24, 8), "float32"), Y: T.Buffer((1, 16, 4, 8), "float32")):
    for s, h, d, t in T.grid(16, 4, 8, 24):
        with T.block("Y"):
            vs, vh, vd, vt = T.axis.remap("SSSR", [s, h, d, t])
            with T.init():
                Y[0, vs, vh, vd] = T.float32(0)
            Y[0, vs, vh, vd] += P[0, vh, vs, vt] * V[0, vh // 2, vt, vd]
)"));
  EXPECT_FALSE(form.wants_channels_last);
  EXPECT_TRUE(form.reads_plain);
}

}  // namespace
}  // namespace tilewright::graph
