#include "graph/fusion/share_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/fusion/read_offsets.h"
#include "graph/onnx/testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

constexpr char kStep[] = R"(
@T.prim_func
def main(x: T.Buffer((10, 32), "float32"), w: T.Buffer((8, 32), "float32"), y: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("y"):
            v = T.axis.spatial(32, i)
            T.reads(x[4, v], w[3, v])
            T.writes(y[v])
            y[v] = x[4, v] * w[3, v]
)";

TEST(ReadOffsets, AreThoseOfInputsThatAreNoConstants) {
  const PrimFunc program = ParseFunctionOrDie(kStep);
  EXPECT_EQ(WithoutReadOffsets(program, {}).offsets, (std::vector<int64_t>{4, 0, 3, 0}));
  EXPECT_EQ(WithoutReadOffsets(program, {1}).offsets, (std::vector<int64_t>{4, 0}));
  EXPECT_TRUE(WithoutReadOffsets(program, {0, 1}).offsets.empty());
  const PrimFunc shared = WithOffsetParameters(program, {1}, {0, -1});
  ASSERT_EQ(shared->params.size(), 4u);
  EXPECT_NE(Print(shared).find("y[v] = x[offset0, v] * w[3, v]"), std::string::npos) << Print(shared);
  // Programs with other offsets are the same without them.
  const PrimFunc other = WithoutReadOffsets(shared, {1}).program;
  EXPECT_FALSE(tilewright::StructuralEqual(other, WithoutReadOffsets(program, {1}).program));
  EXPECT_TRUE(tilewright::StructuralEqual(WithOffsetParameters(program, {}, {-1, -1, -1, -1}), program));
}

// Steps of h = tanh([x[t], h] W), one after the other, of which the last state is wanted.
ModelWriter Steps(int steps, int width, bool symbolic) {
  ModelWriter m(17);
  if (symbolic) {
    m.Input("x", TensorProto::FLOAT, {"n", steps, width});
  } else {
    m.Input("x", TensorProto::FLOAT, {2, steps, width});
  }
  std::vector<float> weights(static_cast<size_t>(width * width));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i)) * 0.2f;
  m.Floats("w", {width, width}, weights);
  m.Int64s("axis", {1});
  std::string state;
  for (int t = 0; t < steps; ++t) {
    const auto name = [&](const char* text) { return absl::StrCat(text, t); };
    m.Int64s(name("from"), {t});
    m.Int64s(name("to"), {t + 1});
    m.Node("Slice", {"x", name("from"), name("to"), "axis"}, {name("part")});
    m.Node("Squeeze", {name("part"), "axis"}, {name("row")});
    std::string sum = name("row");
    if (t > 0) {
      sum = name("sum");
      m.Node("Add", {name("row"), state}, {sum});
    }
    m.Node("MatMul", {sum, "w"}, {name("product")});
    m.Node("Tanh", {name("product")}, {name("state")});
    state = name("state");
  }
  m.Output(state);
  return m;
}

std::unique_ptr<OnnxModel> Load(const ModelWriter& m, std::set<std::string> disabled = {}) {
  auto model = OnnxModel::Load(*m.File(), {.passes = {.disabled = std::move(disabled)}});
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

void ExpectSame(const OnnxModel& a, const OnnxModel& b, const NDArray& x) {
  const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {x}}}};
  const auto one = a.Run(inputs), other = b.Run(inputs);
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  const NDArray &p = (*one)[0].arrays[0], &q = (*other)[0].arrays[0];
  ASSERT_EQ(p.shape(), q.shape());
  for (int64_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p.Get(i), q.Get(i), 1e-5) << i;
}

TEST(ShareKernels, StepsOfARecurrenceAreCompiledOnce) {
  for (const bool symbolic : {false, true}) {
    const ModelWriter m = Steps(12, 16, symbolic);
    const auto shared = Load(m), own = Load(m, {"ShareKernels"});
    ASSERT_TRUE(shared && own);
    EXPECT_LE(shared->executor().num_programs(), 3u);
    EXPECT_GE(own->executor().num_programs(), 10u);
    EXPECT_EQ(CountProgramCalls(shared->module()), CountProgramCalls(own->module()));
    NDArray x(DataType::Float(32), {symbolic ? 5 : 2, 12, 16});
    FillUniform(x, 3);
    ExpectSame(*shared, *own, x);
  }
}

TEST(ShareKernels, FewAndLongProgramsStayAsTheyAre) {
  const auto few = Load(Steps(3, 16, false)), few_apart = Load(Steps(3, 16, false), {"ShareKernels"});
  ASSERT_TRUE(few && few_apart);
  EXPECT_EQ(few->executor().num_programs(), few_apart->executor().num_programs());
  const auto many = Load(Steps(4, 1500, false)), many_apart = Load(Steps(4, 1500, false), {"ShareKernels"});
  ASSERT_TRUE(many && many_apart);
  EXPECT_EQ(many->executor().num_programs(), many_apart->executor().num_programs());
}

}  // namespace
}  // namespace tilewright::graph
