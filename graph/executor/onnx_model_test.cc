#include "graph/executor/onnx_model.h"

#include <algorithm>
#include <vector>

#include "base/phases.h"
#include "gmock/gmock.h"
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

// Memory of somebody else may begin anywhere. The parts' sizes are read when the second model runs: it has no plan.
TEST(OnnxModel, ArgumentsNeedNotBeAligned) {
  constexpr int kRows = 6, kColumns = 16;
  const std::shared_ptr<std::byte[]> memory(new std::byte[kRows * kColumns * sizeof(float) + 64 + sizeof(float)]);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(memory.get());
  const std::shared_ptr<std::byte[]> odd(memory, memory.get() + (64 - begin % 64) + sizeof(float));
  const NDArray x(DataType::Float(32), {kRows, kColumns}, odd), parts(DataType::Int(64), {2});
  FillUniform(x, 1);
  parts.SetInt(0, 2);
  parts.SetInt(1, kRows - 2);
  for (bool reads_parts : {false, true}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {kRows, kColumns});
    m.Input("parts", TensorProto::INT64, {2});
    if (reads_parts) {
      m.Node("Split", {"x", "parts"}, {"y", "z"});
    } else {
      m.Node("Identity", {"parts"}, {"z"});
      m.Node("Neg", {"x"}, {"y"});
    }
    m.Output("y");
    m.Output("z");
    const auto model = OnnxModel::Load(*m.File(), {});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->executor().planned() == nullptr, reads_parts);
    const auto results = (*model)->Run({{"x", {.arrays = {x}}}, {"parts", {.arrays = {parts}}}});
    ASSERT_TRUE(results.ok()) << results.status();
    const NDArray& y = (*results)[0].arrays[0];
    for (int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.Get(i), reads_parts ? x.Get(i) : -x.Get(i));
  }
}

// Fusion has asked for the schedules of the kernels that it joined.
TEST(OnnxModel, KernelsAreScheduledOnce) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {17, 32});
  m.Floats("w", {32, 24}, std::vector<float>(32 * 24, 0.5f));
  m.Floats("b", {24}, std::vector<float>(24, 0.25f));
  m.Node("MatMul", {"x", "w"}, {"product"});
  m.Node("Add", {"product", "b"}, {"sum"});
  m.Node("Softmax", {"sum"}, {"y"});
  m.Output("y");
  PhaseReport report;
  const ReportPhases here({.report = &report});
  const auto model = OnnxModel::Load(*m.File(), {});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<PhaseReport::Entry> phases = report.Phases();
  const auto ran = [&](const char* path) {
    return std::ranges::any_of(phases, [&](const auto& phase) { return phase.path == path; });
  };
  EXPECT_TRUE(ran("graph passes/FuseKernels/rules"));
  EXPECT_TRUE(ran("kernels/lower"));
  EXPECT_FALSE(ran("kernels/rules"));
}

// Symbolic extents that meet are equal or, where they broadcast, 1; others were read beyond the shorter array.
TEST(OnnxModel, SymbolicExtentsHaveToFit) {
  struct Case {
    const char* op;
    std::vector<ModelWriter::Dim> x, z;
    std::vector<int64_t> x_shape;
    std::vector<std::vector<int64_t>> fits, fails;
  };
  const Case cases[] = {
      {"Add", {"n"}, {"m"}, {4}, {{4}, {1}}, {{3}, {5}}},
      {"Mul", {"n", "4"}, {"m", "k"}, {1, 4}, {{3, 1}, {1, 4}}, {{3, 3}}},
      {"MatMul", {"n", "k"}, {"j", "m"}, {2, 5}, {{5, 3}}, {{4, 3}, {6, 3}, {1, 3}}},
      {"Gemm", {"n", "k"}, {"j", "m"}, {2, 5}, {{5, 3}}, {{4, 3}, {6, 3}}},
      {"Concat", {"n", "k"}, {"m", "j"}, {2, 5}, {{2, 3}}, {{1, 3}, {3, 3}}},
  };
  for (const Case& c : cases) {
    for (const bool interpret : {true, false}) {
      SCOPED_TRACE(c.op);
      ModelWriter m(17);
      m.Input("x", TensorProto::FLOAT, c.x);
      m.Input("z", TensorProto::FLOAT, c.z);
      auto* node = m.Node(c.op, {"x", "z"}, {"y"});
      if (c.op == std::string("Concat")) ModelWriter::SetInt(node, "axis", 1);
      m.Output("y");
      const auto model = OnnxModel::Load(*m.File(), {.executor = {.interpret = interpret}});
      ASSERT_TRUE(model.ok()) << model.status();
      const auto run = [&](const std::vector<int64_t>& z) {
        return (*model)->Run({{"x", Random(c.x_shape)}, {"z", Random(z)}});
      };
      for (const auto& z : c.fits) EXPECT_TRUE(run(z).ok()) << run(z).status();
      for (const auto& z : c.fails) {
        const auto result = run(z);
        ASSERT_FALSE(result.ok()) << z[0];
        EXPECT_THAT(std::string(result.status().message()), testing::HasSubstr("the model needs "));
      }
    }
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
