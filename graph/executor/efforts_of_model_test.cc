// Which kernels of a model are compiled with less effort, and that it shows in nothing but speed.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/kernel_effort.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

constexpr int kCold = 6;
constexpr int kSide = 384;  // of the product: milliseconds where the others take microseconds

OnnxModel::Tensors Random(std::vector<int64_t> shape) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, 5);
  return {Item::Kind::kTensor, {array}};
}

// A product, where it is wanted, and kernels of a few numbers that have nothing to do with each other.
struct HotAndCold {
  explicit HotAndCold(bool hot) : writer(17) {
    if (hot) {
      writer.Input("x", TensorProto::FLOAT, {kSide, kSide});
      writer.Input("w", TensorProto::FLOAT, {kSide, kSide});
      writer.Node("MatMul", {"x", "w"}, {"product"});
      writer.Output("product");
      inputs["x"] = Random({kSide, kSide});
      inputs["w"] = Random({kSide, kSide});
    }
    for (int i = 0; i < kCold; ++i) {
      const std::string name = absl::StrCat("x", i), result = absl::StrCat("y", i);
      writer.Input(name, TensorProto::FLOAT, {3, 20 + i});
      writer.Node("Softmax", {name}, {result});
      writer.Output(result);
      inputs[name] = Random({3, 20 + i});
    }
  }

  absl::StatusOr<std::unique_ptr<OnnxModel>> Load(const KernelCache* cache, int opt_level = 2) const {
    return OnnxModel::Load(*writer.File(), {.inputs = &inputs,
                                            .executor = {.kernels = {.cache = cache}, .num_threads = 2},
                                            .passes = {.opt_level = opt_level}});
  }

  ModelWriter writer;
  OnnxModel::Inputs inputs;
};

// By the names of what the kernels compute.
std::map<std::string, CodeEffort> EffortsIn(const OnnxModel& model) {
  std::map<std::string, CodeEffort> efforts;
  const PlannedFunction& function = *model.executor().planned();
  for (const PlanStep& step : function.plan().steps) {
    efforts[step.name] = function.kernels()[static_cast<size_t>(step.program)].effort;
  }
  return efforts;
}

int NumWith(const std::map<std::string, CodeEffort>& efforts, CodeEffort effort) {
  return static_cast<int>(std::ranges::count_if(efforts, [&](const auto& e) { return e.second == effort; }));
}

class EffortsOfModel : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  const std::string folder_ = absl::StrCat(testing::TempDir(), "/efforts_of_model");
  const KernelCache cache_{folder_};
};

TEST_F(EffortsOfModel, KernelsOfASmallShareGetLess) {
  const HotAndCold written(/*hot=*/true);
  const auto model = written.Load(nullptr);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto efforts = EffortsIn(**model);
  EXPECT_EQ(NumWith(efforts, CodeEffort::kSmallShare), kCold);
  EXPECT_EQ(NumWith(efforts, CodeEffort::kFull), 1);
  const auto plain = written.Load(nullptr, /*opt_level=*/0);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto got = (*model)->Run(written.inputs), want = (*plain)->Run(written.inputs);
  ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
  ASSERT_EQ(got->size(), static_cast<size_t>(kCold) + 1);
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_LT(MaxError((*got)[i].arrays[0], (*want)[i].arrays[0]).max_rel, 1e-4) << "result " << i;
  }
}

// The same programs get the full effort where they are most of the run, and both are kept.
TEST_F(EffortsOfModel, TheCacheTellsThemApart) {
  const HotAndCold written(/*hot=*/true), cold(/*hot=*/false);
  const auto first = written.Load(&cache_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->executor().num_compiled(), static_cast<size_t>(kCold) + 1);
  const auto other = cold.Load(&cache_);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(NumWith(EffortsIn(**other), CodeEffort::kFull), kCold);
  EXPECT_EQ((*other)->executor().num_compiled(), static_cast<size_t>(kCold));
  for (const auto& [model, efforts] : {std::pair(&written, EffortsIn(**first)), {&cold, EffortsIn(**other)}}) {
    const auto again = model->Load(&cache_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->executor().num_compiled(), 0u);
    EXPECT_EQ(EffortsIn(**again), efforts);
  }
  EXPECT_NE(KernelKey("program", {}, {}, CodeEffort::kFull), KernelKey("program", {}, {}, CodeEffort::kSmallShare));
}

TEST_F(EffortsOfModel, NothingIsKnownOfPrograms) {
  const HotAndCold written(/*hot=*/true);
  const OnnxModel::LoadOptions options = {.inputs = &written.inputs, .executor = {.kernels = {.schedule = false}}};
  const auto model = OnnxModel::Load(*written.writer.File(), options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(NumWith(EffortsIn(**model), CodeEffort::kFull), kCold + 1);
}

}  // namespace
}  // namespace tilewright::graph
