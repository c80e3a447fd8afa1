#include "graph/fuzz/random_model.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/onnx_model.h"
#include "graph/fuzz/damage.h"
#include "graph/fuzz/disguise.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

absl::StatusOr<std::vector<OnnxModel::Tensors>> RunModel(const RandomModel& random, const PassContext& passes) {
  auto bytes = std::make_shared<std::string>(random.model.SerializeAsString());
  TW_ASSIGN_OR_RETURN(
      auto file, ModelFile::FromBytes(bytes, {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()}, ""));
  OnnxModel::Inputs inputs;
  for (const auto& [name, array] : random.inputs) inputs[name] = {Item::Kind::kTensor, {array}};
  TW_ASSIGN_OR_RETURN(
      auto model,
      OnnxModel::Load(std::move(file), {.inputs = &inputs, .executor = {.interpret = true}, .passes = passes}));
  return model->Run(inputs);
}

// Passes and fusion keep what random models compute; code generation is left to model_fuzz.
TEST(RandomModel, OptimizationsKeepResults) {
  std::set<std::string> operators;
  int compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModel random = MakeRandomModel(seed, 10);
    EXPECT_EQ(random.model.SerializeAsString(), MakeRandomModel(seed, 10).model.SerializeAsString());
    const auto expected = RunModel(random, {.opt_level = 0});
    if (!expected.ok()) {
      EXPECT_EQ(expected.status().code(), absl::StatusCode::kUnimplemented) << expected.status();
      continue;
    }
    const Precision precision = seed % 2 == 0 ? Precision::kExact : Precision::kInteger;
    const auto actual = RunModel(random, {.precision = precision, .check = true});
    ASSERT_TRUE(actual.ok()) << actual.status();
    ++compared;
    for (const auto& node : random.model.graph().node()) operators.insert(node.op_type());
    for (size_t i = 0; i < expected->size(); ++i) {
      const NDArray &a = (*expected)[i].arrays[0], &b = (*actual)[i].arrays[0];
      ASSERT_EQ(a.shape(), b.shape());
      for (int64_t e = 0; e < a.size(); ++e) {
        ASSERT_NEAR(a.Get(e), b.Get(e), 1e-3 * std::max(1.0, std::abs(a.Get(e))));
      }
    }
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(operators.size(), 40u);
}

// Functions, the order of nodes and defaults of inputs change nothing.
TEST(RandomModel, DisguisedModelsComputeTheSame) {
  int compared = 0, functions = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RandomModel random = MakeRandomModel(seed, 10);
    const auto expected = RunModel(random, {.opt_level = 0});
    if (!expected.ok()) continue;
    std::mt19937_64 numbers(seed);
    const RandomModel disguised{Disguised(random.model, numbers), random.inputs};
    functions += disguised.model.functions_size();
    const auto actual = RunModel(disguised, {.opt_level = 0});
    ASSERT_TRUE(actual.ok()) << actual.status();
    ++compared;
    for (size_t i = 0; i < expected->size(); ++i) {
      EXPECT_TRUE(BitEqual((*expected)[i].arrays[0], (*actual)[i].arrays[0]));
    }
  }
  EXPECT_GT(compared, 50);
  EXPECT_GT(functions, 100);
}

// Import, every pass and the plan: errors of the input, and quickly. model_fuzz --damage runs many more.
TEST(RandomModel, DamagedFilesAreErrors) {
  int good = 0, bad = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const RandomModel random = MakeRandomModel(seed, 8);
    std::mt19937_64 numbers(seed);
    for (int copy = 0; copy < 10; ++copy) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, " copy ", copy));
      auto bytes = std::make_shared<std::string>(DamagedFile(random.model, numbers));
      auto file = ModelFile::FromBytes(bytes, {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()}, "");
      absl::Status status = file.status();
      if (file.ok()) status = OnnxModel::Load(*std::move(file), {.executor = {.interpret = true}}).status();
      ++(status.ok() ? good : bad);
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
    }
  }
  EXPECT_GT(good, 20);
  EXPECT_GT(bad, 100);
}

}  // namespace
}  // namespace tilewright::graph
