#include "graph/executor/repeated_run.h"

#include <cmath>
#include <set>

#include "graph/executor/executor.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// y = x + x, z = x, which no kernel writes.
std::unique_ptr<OnnxModel> Doubling() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 3});
  m.Node("Add", {"x", "x"}, {"y"});
  m.Node("Identity", {"x"}, {"z"});
  m.Output("y");
  m.Output("z");
  auto model = OnnxModel::Load(*m.File(), {.executor = {.poison = true, .num_threads = 1}});
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

NDArray Numbers(int64_t rows, double first) {
  NDArray x(DataType::Float(32), {rows, 3});
  for (int64_t i = 0; i < x.size(); ++i) x.Set(i, first + static_cast<double>(i));
  return x;
}

TEST(RepeatedRun, ResultsThatAreHeldStay) {
  const auto model = Doubling();
  ASSERT_NE(model, nullptr);
  const SymbolValues outer;
  const RunOptions options;
  RepeatedRun run(*model->executor().planned(), outer, options);
  std::vector<Arrays> kept;
  for (int i = 0; i < 6; ++i) {
    const NDArray x = Numbers(2, i);
    auto results = run.Run({x});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_NE((*results)[1].data(), x.data());
    kept.push_back(*std::move(results));
  }
  for (int i = 0; i < 6; ++i) {
    for (int64_t at = 0; at < 6; ++at) {
      EXPECT_EQ(kept[static_cast<size_t>(i)][0].Get(at), 2.0 * static_cast<double>(i + at));
      EXPECT_EQ(kept[static_cast<size_t>(i)][1].Get(at), static_cast<double>(i + at));
    }
  }
}

TEST(RepeatedRun, FreeResultsAreWrittenAgain) {
  const auto model = Doubling();
  ASSERT_NE(model, nullptr);
  const SymbolValues outer;
  const RunOptions options;
  RepeatedRun run(*model->executor().planned(), outer, options);
  NDArray state = Numbers(2, 1);
  std::set<const void*> places;
  for (int i = 0; i < 20; ++i) {
    auto results = run.Run({state});
    ASSERT_TRUE(results.ok()) << results.status();
    state = (*results)[0];
    EXPECT_EQ(state.Get(5), 6.0 * std::exp2(i + 1));
    if (i > 0) places.insert(state.data());
  }
  EXPECT_LE(places.size(), 2u);
}

TEST(RepeatedRun, SizesMayChange) {
  const auto model = Doubling();
  ASSERT_NE(model, nullptr);
  const SymbolValues outer;
  const RunOptions options;
  RepeatedRun run(*model->executor().planned(), outer, options);
  for (const int64_t rows : {2, 2, 2, 3, 3, 2, 5}) {
    const auto results = run.Run({Numbers(rows, 0)});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].shape(), (std::vector<int64_t>{rows, 3}));
    EXPECT_EQ((*results)[0].Get(rows * 3 - 1), 2.0 * static_cast<double>(rows * 3 - 1));
  }
  EXPECT_FALSE(run.Run({NDArray(DataType::Int(32), {2, 3})}).ok());
}

TEST(Stacked, GrowsAndReverses) {
  Stacked growing, reversed(3, true);
  EXPECT_FALSE(growing.Take().has_value());
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(growing.Add(Numbers(1, static_cast<double>(10 * i))).ok());
    ASSERT_TRUE(reversed.Add(Numbers(1, static_cast<double>(10 * i))).ok());
  }
  EXPECT_FALSE(growing.Add(Numbers(2, 0)).ok());
  ASSERT_EQ(growing.Take()->shape(), (std::vector<int64_t>{3, 1, 3}));
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(growing.Take()->Get(i), static_cast<double>(10 * (i / 3) + i % 3));
    EXPECT_EQ(reversed.Take()->Get(i), static_cast<double>(10 * (2 - i / 3) + i % 3));
  }
}

}  // namespace
}  // namespace tilewright::graph
