#include "graph/executor/optimize.h"

#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

NDArray Random(std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, seed);
  return array;
}

std::vector<float> FloatsOf(const NDArray& array) {
  const auto* first = static_cast<const float*>(array.data());
  return {first, first + array.size()};
}

std::unique_ptr<OnnxModel> Load(const ModelWriter& m, const PassContext& passes) {
  auto model = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}, .passes = passes});
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

// x + transpose(constant): the transpose is of a size that is interpreted, and of one that is compiled.
TEST(Optimize, FoldsConstantsOfEverySize) {
  for (int n : {40, 500}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {n, n});
    m.Floats("w", {n, n}, FloatsOf(Random({n, n}, 1)));
    m.Node("Transpose", {"w"}, {"t"});
    m.Node("Transpose", {"w"}, {"same"});
    m.Node("Mul", {"t", "t"}, {"squares"});
    m.Node("Add", {"x", "squares"}, {"y"});
    m.Node("Add", {"y", "same"}, {"z"});
    m.Output("z");
    const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {Random({n, n}, 2)}}}};
    const auto plain = Load(m, {.opt_level = 0}), folded = Load(m, {.opt_level = 1});
    ASSERT_TRUE(plain && folded);
    EXPECT_EQ(CountProgramCalls(plain->module()), 5);
    EXPECT_EQ(CountProgramCalls(folded->module()), 2);
    const auto expected = plain->Run(inputs), actual = folded->Run(inputs);
    ASSERT_TRUE(expected.ok() && actual.ok());
    EXPECT_TRUE(BitEqual((*expected)[0].arrays[0], (*actual)[0].arrays[0]));
  }
}

TEST(Optimize, NothingThatGrowsIsFolded) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {100, 50});
  m.Floats("w", {50}, std::vector<float>(50, 2.5f));
  m.Int64s("shape", {100, 50});
  m.Node("Expand", {"w", "shape"}, {"wide"});
  m.Node("Add", {"x", "wide"}, {"y"});
  m.Output("y");
  const auto model = Load(m, {.opt_level = 1});
  ASSERT_TRUE(model);
  EXPECT_EQ(CountProgramCalls(model->module()), 2);
}

// A bias changes no weights: there is nothing to compute ahead of time.
TEST(Optimize, WeightsBeforeABiasStayAsTheyAre) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4, 30});
  m.Floats("w", {30, 20}, FloatsOf(Random({30, 20}, 1)));
  m.Floats("b", {20}, FloatsOf(Random({20}, 2)));
  m.Node("MatMul", {"x", "w"}, {"h"});
  m.Node("Add", {"h", "b"}, {"y"});
  m.Output("y");
  const auto model = Load(m, {.opt_level = 2, .disabled = {"FoldConstants", "FuseKernels"}});
  ASSERT_TRUE(model);
  EXPECT_EQ(CountProgramCalls(model->module()), 2);
}

TEST(Optimize, UnknownPassesAreErrors) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4});
  m.Node("Relu", {"x"}, {"y"});
  m.Output("y");
  const auto model = OnnxModel::Load(*m.File(), {.passes = {.disabled = {"FoldConstant"}}});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("FoldConstant"), std::string::npos) << model.status();
}

}  // namespace
}  // namespace tilewright::graph
