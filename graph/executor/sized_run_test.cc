#include "graph/executor/sized_run.h"

#include "graph/executor/executor.h"
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

std::unique_ptr<OnnxModel> Load(const ModelWriter& m) {
  auto model = OnnxModel::Load(*m.File(), {.executor = {.poison = true, .num_threads = 2}});
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

TEST(SizedRun, NewSizesBindNoPlan) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 64});
  m.Node("Softmax", {"x"}, {"h"});
  m.Node("MatMul", {"h", "t"}, {"y"});
  m.Node("Transpose", {"h"}, {"t"});
  m.Output("y");
  const auto model = Load(m);
  ASSERT_NE(model, nullptr);
  const auto interpreted = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}});
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  const PlannedFunction& planned = *model->executor().planned();
  ASSERT_TRUE(planned.Reserve({{40, 64}}).ok());
  const RunCounters before = planned.counters();
  EXPECT_EQ(before.plans, 1);
  for (int64_t n = 1; n <= 40; n += 3) {
    const Arrays arguments = {Random({n, 64}, static_cast<uint64_t>(n))};
    const auto got = model->executor().Run(arguments);
    const auto want = (*interpreted)->executor().Run(arguments);
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    ASSERT_EQ((*got)[0].shape(), (std::vector<int64_t>{n, n}));
    EXPECT_LT(MaxError((*got)[0], (*want)[0]).max_abs, 1e-5) << n;
  }
  const RunCounters after = planned.counters();
  EXPECT_EQ(after.plans, before.plans);
  EXPECT_EQ(after.frames, before.frames);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
  EXPECT_EQ(after.copied_bytes, 0);
}

TEST(SizedRun, RefusesWhatAPlanForTheSizesRefuses) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 4});
  m.Input("y", TensorProto::FLOAT, {"n", 4});
  m.Node("Add", {"x", "y"}, {"z"});
  m.Output("z");
  const auto model = Load(m);
  ASSERT_NE(model, nullptr);
  const Executor& executor = model->executor();
  EXPECT_EQ(executor.Run({Random({2, 4}, 1), Random({3, 4}, 2)}).status().message(),
            "an extent of y is 3, expected 2 (n)");
  EXPECT_EQ(executor.Run({Random({2, 5}, 1), Random({2, 4}, 2)}).status().message(), "an extent of x is 5, expected 4");
  EXPECT_EQ(executor.RunInto({Random({2, 4}, 1), Random({2, 4}, 2)}, {Random({3, 4}, 3)}).message(),
            "result 0 has another shape or type than its array");
  EXPECT_TRUE(executor.Run({Random({2, 4}, 1), Random({2, 4}, 2)}).ok());
}

// A cache of [2, room, 4], into which each run writes `new` keys from a place of each batch on.
ModelWriter Cache(ModelWriter::Dim room) {
  ModelWriter m(24);
  m.Input("past", TensorProto::FLOAT, {2, room, 4});
  m.Input("x", TensorProto::FLOAT, {2, "new", 4});
  m.Input("places", TensorProto::INT64, {2});
  m.Node("Neg", {"x"}, {"fresh"});
  ModelWriter::SetInt(m.Node("TensorScatter", {"past", "fresh", "places"}, {"present"}), "axis", 1);
  m.Node("Exp", {"present"}, {"y"});
  m.Output("present");
  m.Output("y");
  return m;
}

class SharedCache : public testing::TestWithParam<bool> {};

TEST_P(SharedCache, IsWrittenInPlace) {
  const ModelWriter m = Cache(GetParam() ? ModelWriter::Dim("room") : ModelWriter::Dim(9));
  const auto model = Load(m);
  ASSERT_NE(model, nullptr);
  const Executor& executor = model->executor();
  const NDArray cache = Random({2, 9, 4}, 1), other = cache.Clone();
  NDArray places(DataType::Int(64), {2});
  for (const int64_t count : {1, 3, 2}) {
    places.SetInt(0, places.GetInt(0) + count);
    places.SetInt(1, 9 - count);
    const NDArray x = Random({2, count, 4}, static_cast<uint64_t>(count));
    const NDArray apart({DataType::Float(32), {2, 9, 4}}), y({DataType::Float(32), {2, 9, 4}});
    const NDArray shared_y({DataType::Float(32), {2, 9, 4}});
    ASSERT_TRUE(executor.RunInto({other, x, places}, {apart, y}).ok());
    const absl::Status status = executor.RunInto({cache, x, places}, {cache, shared_y});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(BitEqual(cache, apart));
    EXPECT_TRUE(BitEqual(y, shared_y));
    std::copy_n(static_cast<const float*>(apart.data()), apart.size(), static_cast<float*>(other.data()));
  }
  // A cache of constant room is copied.
  const auto in_place = [](const PlanStep& step) { return step.in_place.has_value(); };
  if (GetParam()) EXPECT_TRUE(std::ranges::any_of(executor.planned()->plan().steps, in_place));
}
INSTANTIATE_TEST_SUITE_P(Rooms, SharedCache, testing::Bool());

}  // namespace
}  // namespace tilewright::graph
