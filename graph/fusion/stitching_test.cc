// How many loops at the top small graphs become, of which a person would write one: with constant and symbolic rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/program/top_nests.h"
#include "graph/device/device.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/onnx/testing.h"
#include "ir/ndarray.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// A graph under construction: nodes by name, results in order.
class Graph {
 public:
  Graph(bool symbolic, int rows, int width) : symbolic_(symbolic), rows_(rows), width_(width), writer_(17) {}

  int width() const { return width_; }

  std::string Input(const std::string& name) {
    if (symbolic_) {
      writer_.Input(name, TensorProto::FLOAT, {"n", width_});
    } else {
      writer_.Input(name, TensorProto::FLOAT, {rows_, width_});
    }
    return name;
  }
  // A class of each row, of so many.
  std::string Labels(const std::string& name, int classes) {
    classes_ = classes;
    if (symbolic_) {
      writer_.Input(name, TensorProto::INT64, {"n", 1});
    } else {
      writer_.Input(name, TensorProto::INT64, {rows_, 1});
    }
    return name;
  }
  std::string Weights(const std::vector<int64_t>& shape) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    // Others than those before: equal ones would be one.
    writer_.Floats(Fresh(), shape, std::vector<float>(static_cast<size_t>(size), 0.01f * static_cast<float>(next_)));
    return last_;
  }
  // A matrix whose elements differ.
  std::string Distinct(int64_t rows, int64_t columns) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i * 37 % 101) - 0.5f;
    writer_.Floats(Fresh(), {rows, columns}, values);
    return last_;
  }
  std::string Shape(const std::vector<int64_t>& dims) {
    writer_.Int64s(Fresh(), dims);
    return last_;
  }
  std::string Scalar(float value) {
    writer_.Floats(Fresh(), {}, {value});
    return last_;
  }
  std::string Of(const std::string& op, const std::vector<std::string>& inputs, std::optional<int> axis = {}) {
    onnx::NodeProto* const node = writer_.Node(op, inputs, {Fresh()});
    if (axis) ModelWriter::SetInt(node, "axis", *axis);
    return last_;
  }
  // The halves of the last axis.
  std::pair<std::string, std::string> Halves(const std::string& input, int64_t half) {
    const std::string sizes = Shape({half, half}), first = Fresh(), second = Fresh();
    ModelWriter::SetInt(writer_.Node("Split", {input, sizes}, {first, second}), "axis", -1);
    return {first, second};
  }
  std::string Reduce(const std::string& op, const std::string& input, int64_t axis = -1) {
    std::vector<std::string> inputs = {input};
    const bool sum = op == "ReduceSum";
    if (sum) {
      writer_.Int64s(Fresh(), {axis});
      inputs.push_back(last_);
    }
    onnx::NodeProto* const node = writer_.Node(op, inputs, {Fresh()});
    ModelWriter::SetInt(node, "keepdims", 1);
    if (!sum) {
      auto* axes = node->add_attribute();
      axes->set_name("axes");
      axes->set_type(onnx::AttributeProto::INTS);
      axes->add_ints(axis);
    }
    return last_;
  }
  void Output(const std::string& name) { writer_.Output(name); }

  std::unique_ptr<OnnxModel> Load(const OnnxModel::LoadOptions& options) const {
    auto model = OnnxModel::Load(*writer_.File(), options);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? *std::move(model) : nullptr;
  }

  // What the interpreter makes of the graph as it was imported, and what runs as the options say, on the same positive
  // numbers.
  void CompareValues(const OnnxModel::LoadOptions& options) {
    Arrays arguments;
    for (const auto& input : writer_.graph().input()) {
      if (input.type().tensor_type().elem_type() == TensorProto::INT64) {
        NDArray& labels = arguments.emplace_back(DataType::Int(64), std::vector<int64_t>{rows_, 1});
        for (int64_t row = 0; row < rows_; ++row) static_cast<int64_t*>(labels.data())[row] = row * 7 % classes_;
        continue;
      }
      arguments.emplace_back(DataType::Float(32), std::vector<int64_t>{rows_, width_});
      FillUniform(arguments.back(), arguments.size(), 0.1, 1);
    }
    OnnxModel::LoadOptions as_imported;
    as_imported.executor.interpret = true;
    as_imported.passes.opt_level = 0;
    const std::unique_ptr<OnnxModel> expected = Load(as_imported), fused = Load(options);
    ASSERT_TRUE(expected != nullptr && fused != nullptr);
    const auto wanted = expected->executor().Run(arguments), found = fused->executor().Run(arguments);
    ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
    ASSERT_EQ(wanted->size(), found->size());
    for (size_t i = 0; i < wanted->size(); ++i) {
      EXPECT_EQ((*wanted)[i].shape(), (*found)[i].shape());
      const ArrayError error = MaxError((*found)[i], (*wanted)[i]);
      // Products of normalized rows by 256 columns cancel: in another order of terms they differ by 2.6e-5.
      EXPECT_TRUE(error.max_abs < 4e-5 || error.max_rel < 2e-5) << "output " << i << ": " << error.max_abs;
    }
  }

  // Loops at the top of all calls together. On a GPU each is a launch.
  int TopLoops(const Target& target) {
    OnnxModel::LoadOptions options;
    options.likely = {{"n", {rows_}}};
    options.executor.kernels.use = KernelUse::kExplain;
    options.executor.kernels.target = target;
    const std::unique_ptr<OnnxModel> model = Load(options);
    if (model == nullptr) return 0;
    const ExecutablePlan& plan = model->executor().planned()->plan();
    int loops = 0;
    for (const PlanStep& step : plan.steps) {
      const KernelSource& source = plan.programs[static_cast<size_t>(step.program)];
      const auto kernel = ScheduleKernel(CanonicalProgram(source.program), source.constant, target, "");
      EXPECT_TRUE(kernel.ok()) << kernel.status();
      loops += CountTopNests(kernel->module.Find(kKernelMain));
    }
    return loops;
  }

 private:
  std::string Fresh() { return last_ = "v" + std::to_string(next_++); }

  const bool symbolic_;
  const int rows_, width_;
  ModelWriter writer_;
  std::string last_;
  int next_ = 0, classes_ = 1;
};

void Softmax(Graph& g) {
  const std::string x = g.Input("x"), e = g.Of("Exp", {g.Of("Sub", {x, g.Reduce("ReduceMax", x)})});
  g.Output(g.Of("Div", {e, g.Reduce("ReduceSum", e)}));
}
void LogSoftmax(Graph& g) {
  const std::string x = g.Input("x"), m = g.Reduce("ReduceMax", x);
  const std::string sum = g.Reduce("ReduceSum", g.Of("Exp", {g.Of("Sub", {x, m})}));
  const std::string normalizer = g.Of("Add", {m, g.Of("Log", {sum})});
  g.Output(normalizer);
  g.Output(g.Of("Sub", {x, normalizer}));
}
void RmsNormOfASum(Graph& g) {
  const std::string s = g.Of("Add", {g.Input("x"), g.Input("r")});
  const std::string mean = g.Reduce("ReduceMean", g.Of("Mul", {s, s}));
  const std::string norm = g.Of("Sqrt", {g.Of("Add", {mean, g.Scalar(1e-5f)})});
  g.Output(s);
  g.Output(g.Of("Mul", {g.Of("Div", {s, norm}), g.Weights({g.width()})}));
}
void NormByMoments(Graph& g) {
  const std::string x = g.Input("x"), mean = g.Reduce("ReduceMean", x);
  const std::string square = g.Reduce("ReduceMean", g.Of("Mul", {x, x}));
  const std::string variance = g.Of("Sub", {square, g.Of("Mul", {mean, mean})});
  const std::string norm = g.Of("Sqrt", {g.Of("Add", {variance, g.Scalar(1e-5f)})});
  g.Output(g.Of("Div", {g.Of("Sub", {x, mean}), norm}));
}
void Cosine(Graph& g) {
  const std::string a = g.Input("a"), b = g.Input("b");
  const std::string ab = g.Reduce("ReduceSum", g.Of("Mul", {a, b}));
  const std::string aa = g.Reduce("ReduceSum", g.Of("Mul", {a, a}));
  const std::string bb = g.Reduce("ReduceSum", g.Of("Mul", {b, b}));
  g.Output(g.Of("Div", {ab, g.Of("Sqrt", {g.Of("Mul", {aa, bb})})}));
}
void FourStatistics(Graph& g) {
  const std::string x = g.Input("x");
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceSum"}) g.Output(g.Reduce(op, x));
  g.Output(g.Reduce("ReduceSum", g.Of("Mul", {x, x})));
}
void FourFunctions(Graph& g) {
  const std::string x = g.Input("x");
  for (const char* op : {"Tanh", "Sigmoid", "Relu"}) g.Output(g.Of(op, {x}));
  g.Output(g.Of("Mul", {x, x}));
}
void Adam(Graph& g) {
  const std::string p = g.Input("p"), d = g.Input("d"), m = g.Input("m"), v = g.Input("v");
  const auto mix = [&](const std::string& old, float keep, const std::string& add) {
    return g.Of("Add", {g.Of("Mul", {old, g.Scalar(keep)}), g.Of("Mul", {add, g.Scalar(1 - keep)})});
  };
  const std::string m2 = mix(m, 0.9f, d), v2 = mix(v, 0.999f, g.Of("Mul", {d, d}));
  const std::string step = g.Of("Div", {m2, g.Of("Add", {g.Of("Sqrt", {v2}), g.Scalar(1e-8f)})});
  g.Output(m2);
  g.Output(v2);
  g.Output(g.Of("Sub", {p, g.Of("Mul", {step, g.Scalar(1e-3f)})}));
}
// x is normalized already.
void NormBackward(Graph& g) {
  const std::string x = g.Input("x"), d = g.Input("d"), gd = g.Of("Mul", {d, g.Weights({g.width()})});
  const std::string mean = g.Reduce("ReduceMean", gd), dot = g.Reduce("ReduceMean", g.Of("Mul", {gd, x}));
  g.Output(g.Of("Sub", {g.Of("Sub", {gd, mean}), g.Of("Mul", {x, dot})}));
  g.Output(g.Reduce("ReduceSum", d, 0));
  g.Output(g.Reduce("ReduceSum", g.Of("Mul", {d, x}), 0));
}
void ThreeProducts(Graph& g) {
  const std::string x = g.Input("x");
  for (int i = 0; i < 3; ++i) g.Output(g.Of("MatMul", {x, g.Weights({g.width(), 24})}));
}
std::string Gated(Graph& g) {
  const std::string x = g.Input("x"), a = g.Of("MatMul", {x, g.Weights({g.width(), 24})});
  const std::string b = g.Of("MatMul", {x, g.Weights({g.width(), 24})});
  return g.Of("Mul", {g.Of("Mul", {a, g.Of("Sigmoid", {a})}), b});
}
void GatedProducts(Graph& g) { g.Output(Gated(g)); }
void GatedBlock(Graph& g) { g.Output(g.Of("MatMul", {Gated(g), g.Weights({24, g.width()})})); }
void SoftmaxOfAProduct(Graph& g) {
  const std::string x = g.Of("MatMul", {g.Input("x"), g.Weights({g.width(), 24})});
  const std::string e = g.Of("Exp", {g.Of("Sub", {x, g.Reduce("ReduceMax", x)})});
  g.Output(g.Of("Div", {e, g.Reduce("ReduceSum", e)}));
}
void ThreeColumnStatistics(Graph& g) {
  const std::string x = g.Input("x");
  g.Output(g.Reduce("ReduceMax", x, 0));
  g.Output(g.Reduce("ReduceSum", x, 0));
  g.Output(g.Reduce("ReduceSum", g.Of("Mul", {x, x}), 0));
}

void BatchNormInTraining(Graph& g) {
  const std::string x = g.Input("x"), mean = g.Reduce("ReduceMean", x, 0), centered = g.Of("Sub", {x, mean});
  const std::string variance = g.Reduce("ReduceMean", g.Of("Mul", {centered, centered}), 0);
  const std::string norm = g.Of("Sqrt", {g.Of("Add", {variance, g.Scalar(1e-5f)})});
  g.Output(mean);
  g.Output(variance);
  g.Output(g.Of("Mul", {g.Of("Div", {centered, norm}), g.Weights({g.width()})}));
}

// Rows: the loss of each, and its gradient.
void CrossEntropy(Graph& g) {
  const std::string x = g.Input("x"), label = g.Input("t"), shifted = g.Of("Sub", {x, g.Reduce("ReduceMax", x)});
  const std::string e = g.Of("Exp", {shifted}), sum = g.Reduce("ReduceSum", e);
  const std::string log_softmax = g.Of("Sub", {shifted, g.Of("Log", {sum})});
  g.Output(g.Of("Neg", {g.Reduce("ReduceSum", g.Of("Mul", {log_softmax, label}))}));
  g.Output(g.Of("Sub", {g.Of("Div", {e, sum}), label}));
}
// Groups of two channels with a mean each; of one channel where the width is odd.
void GroupNorm(Graph& g) {
  const int channels = g.width() % 16 == 0 ? 16 : g.width() % 3 == 0 ? 3 : 1;
  const std::string groups = g.Of("Reshape", {g.Input("x"), g.Shape({0, channels == 16 ? 8 : channels, -1})});
  const std::string centered = g.Of("Sub", {groups, g.Reduce("ReduceMean", groups)});
  const std::string variance = g.Reduce("ReduceMean", g.Of("Mul", {centered, centered}));
  const std::string norm = g.Of("Sqrt", {g.Of("Add", {variance, g.Scalar(1e-5f)})});
  const std::string by_channel = g.Of("Reshape", {g.Of("Div", {centered, norm}), g.Shape({0, channels, -1})});
  g.Output(g.Of("Mul", {by_channel, g.Weights({channels, 1})}));
}
// Two products of a norm's result, with a bias each.
void GatesOfANorm(Graph& g) {
  const std::string x = g.Input("x"), mean = g.Reduce("ReduceMean", g.Of("Mul", {x, x}));
  const std::string norm = g.Of("Div", {x, g.Of("Sqrt", {g.Of("Add", {mean, g.Scalar(1e-5f)})})});
  const auto product = [&] {
    return g.Of("Add", {g.Of("MatMul", {norm, g.Weights({g.width(), 48})}), g.Weights({48})});
  };
  const std::string value = product(), gate = product();
  g.Output(g.Of("Mul", {value, g.Of("Sigmoid", {gate})}));
}

// A gate and what it lets through are halves of one product.
void GateOfHalves(Graph& g) {
  const auto [a, b] = g.Halves(g.Of("MatMul", {g.Input("x"), g.Weights({g.width(), 48})}), 24);
  g.Output(g.Of("Mul", {g.Of("Mul", {a, g.Of("Sigmoid", {a})}), b}));
}
std::string RmsNorm(Graph& g, const std::string& x, int64_t width) {
  const std::string mean = g.Reduce("ReduceMean", g.Of("Mul", {x, x}));
  const std::string norm = g.Of("Sqrt", {g.Of("Add", {mean, g.Scalar(1e-5f)})});
  return g.Of("Mul", {g.Of("Div", {x, norm}), g.Weights({width})});
}
void TwoProductsOfANorm(Graph& g) {
  const std::string norm = RmsNorm(g, g.Input("x"), g.width());
  for (int i = 0; i < 2; ++i) g.Output(g.Of("MatMul", {norm, g.Weights({g.width(), 48})}));
}
// Each row's mean and deviation, and a product of what is left.
void MeanStdProduct(Graph& g) {
  const std::string x = g.Input("x"), mean = g.Reduce("ReduceMean", x), centered = g.Of("Sub", {x, mean});
  const std::string deviation = g.Of("Sqrt", {g.Reduce("ReduceMean", g.Of("Mul", {centered, centered}))});
  g.Output(mean);
  g.Output(deviation);
  g.Output(g.Of("MatMul", {g.Of("Div", {centered, deviation}), g.Weights({g.width(), 48})}));
}

// ---- Rows, and columns, of a product

std::string Product(Graph& g) { return g.Of("MatMul", {g.Input("x"), g.Distinct(g.width(), 24)}); }
void ArgmaxBesideExponentials(Graph& g) {
  const std::string x = Product(g), e = g.Of("Exp", {g.Of("Sub", {x, g.Reduce("ReduceMax", x)})});
  g.Output(g.Of("ArgMax", {x}, 1));
  g.Output(g.Reduce("ReduceSum", e));
}
void SoftmaxOfColumns(Graph& g) {
  const std::string x = Product(g), e = g.Of("Exp", {g.Of("Sub", {x, g.Reduce("ReduceMax", x, 0)})});
  g.Output(g.Of("Div", {e, g.Reduce("ReduceSum", e, 0)}));
}
// The loss of one label a row.
void LossOfLabels(Graph& g) {
  const std::string log_softmax = g.Of("LogSoftmax", {Product(g)}, 1);
  g.Output(g.Of("Neg", {g.Of("GatherElements", {log_softmax, g.Labels("label", 24)}, 1)}));
}
void NormOfAProduct(Graph& g) { g.Output(RmsNorm(g, Product(g), 24)); }
void AttentionWithWeights(Graph& g) {
  const std::string weights = g.Of("Softmax", {Product(g)}, -1);
  g.Output(weights);
  g.Output(g.Of("MatMul", {weights, g.Distinct(24, 40)}));
}

struct Case {
  const char* name;
  void (*make)(Graph&);
  int wanted;              // what a person writes
  int constant, symbolic;  // what there is: these may only shrink
  int launches;            // of constant rows on an H200, as projected
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

constexpr Case kCases[] = {
    {"Softmax", Softmax, 1, 1, 1, 1},
    {"LogSoftmax", LogSoftmax, 1, 1, 1, 1},
    {"RmsNormOfASum", RmsNormOfASum, 1, 1, 1, 1},
    {"NormByMoments", NormByMoments, 1, 1, 1, 1},
    {"Cosine", Cosine, 1, 1, 1, 1},
    {"FourStatistics", FourStatistics, 1, 1, 1, 1},
    {"FourFunctions", FourFunctions, 1, 1, 1, 1},
    {"Adam", Adam, 1, 1, 1, 1},
    {"NormBackward", NormBackward, 2, 2, 2, 2},
    {"ThreeProducts", ThreeProducts, 1, 1, 1, 1},
    {"GatedProducts", GatedProducts, 1, 1, 1, 1},
    {"GatedBlock", GatedBlock, 2, 2, 2, 2},
    {"SoftmaxOfAProduct", SoftmaxOfAProduct, 1, 1, 1, 1},
    {"ThreeColumnStatistics", ThreeColumnStatistics, 1, 1, 1, 1},
    {"BatchNormInTraining", BatchNormInTraining, 3, 3, 2, 2},
    {"CrossEntropy", CrossEntropy, 1, 1, 1, 1},
    {"GroupNorm", GroupNorm, 1, 1, 1, 1},
    {"GatesOfANorm", GatesOfANorm, 2, 2, 2, 2},
    {"GateOfHalves", GateOfHalves, 1, 2, 2, 2},
    {"TwoProductsOfANorm", TwoProductsOfANorm, 2, 2, 2, 2},
    {"MeanStdProduct", MeanStdProduct, 2, 2, 2, 2},
    {"ArgmaxBesideExponentials", ArgmaxBesideExponentials, 1, 2, 2, 1},
    {"SoftmaxOfColumns", SoftmaxOfColumns, 1, 5, 5, 1},
    {"LossOfLabels", LossOfLabels, 1, 1, 1, 1},
    {"NormOfAProduct", NormOfAProduct, 1, 1, 1, 1},
    {"AttentionWithWeights", AttentionWithWeights, 1, 1, 1, 1},
};

class Stitching : public testing::TestWithParam<Case> {};

TEST_P(Stitching, TopLoops) {
  for (const bool symbolic : {false, true}) {
    Graph graph(symbolic, 96, 256);
    GetParam().make(graph);
    Target target = *NamedTarget("x86-znver3");
    target.cores = 2;
    EXPECT_EQ(graph.TopLoops(target), symbolic ? GetParam().symbolic : GetParam().constant)
        << (symbolic ? "symbolic" : "constant") << " rows; a person writes " << GetParam().wanted;
  }
}

TEST_P(Stitching, Launches) {
  Graph graph(/*symbolic=*/false, 96, 256);
  GetParam().make(graph);
  EXPECT_EQ(graph.TopLoops(*NamedTarget("cuda-sm90a")), GetParam().launches);
}

// Odd sizes leave rests everywhere.
TEST_P(Stitching, ValuesAtOddSizes) {
  for (const bool symbolic : {false, true}) {
    for (const auto& [rows, width] : {std::pair(7, 37), {33, 129}}) {
      SCOPED_TRACE(testing::Message() << (symbolic ? "symbolic " : "constant ") << rows << " x " << width);
      Graph graph(symbolic, rows, width);
      GetParam().make(graph);
      graph.CompareValues({});
    }
  }
}

// Nests that became one launch, of threads that agree and of others.
TEST_P(Stitching, ValuesOnAnEmulatedGpu) {
  const auto device = EmulatedGpu();
  ASSERT_TRUE(device.ok()) << device.status();
  OnnxModel::LoadOptions options;
  options.executor.kernels = {.target = *NamedTarget("cuda-sm90a"), .use = KernelUse::kDevice, .emulate = true};
  options.executor.device = *device;
  for (const auto& [rows, width] : {std::pair(33, 129), {96, 256}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << width);
    Graph graph(/*symbolic=*/false, rows, width);
    GetParam().make(graph);
    graph.CompareValues(options);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, Stitching, testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace tilewright::graph
