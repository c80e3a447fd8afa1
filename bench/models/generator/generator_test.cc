// The generated models: they import, and compiled code computes what the interpreter does, at two sizes where they are
// symbolic.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/testing.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using graph::OnnxModel;

void Compare(const GeneratedModel& model, const OnnxModel& compiled, const OnnxModel& interpreted, int64_t batch,
             int64_t sequence) {
  const OnnxModel::Inputs inputs = InputsOf(model, batch, sequence);
  const auto got = compiled.Run(inputs), want = interpreted.Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    const NDArray &a = (*got)[i].arrays[0], &b = (*want)[i].arrays[0];
    ASSERT_EQ(a.shape(), b.shape());
    EXPECT_LT(MaxError(a, b).max_abs, 1e-4);
    // Outputs of the order of 1 that differ from one another.
    double least = INFINITY, most = -INFINITY;
    for (int64_t k = 0; k < a.size(); ++k) {
      least = std::min(least, a.Get(k));
      most = std::max(most, a.Get(k));
    }
    EXPECT_GT(most - least, 0.05);
    EXPECT_LT(most - least, 100);
  }
}

class GeneratorTest : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(GeneratorTest, RunsAsItIsInterpreted) {
  const auto& [name, symbolic] = GetParam();
  const auto model = GenerateModel(name, {.seed = 7, .sequence = 5, .symbolic = symbolic, .tiny = true});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto compiled = OnnxModel::Load(FileOf(model->proto), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto interpreted = OnnxModel::Load(FileOf(model->proto), {.executor = {.interpret = true}});
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  Compare(*model, **compiled, **interpreted, 1, 5);
  if (symbolic) Compare(*model, **compiled, **interpreted, 2, 9);
}

std::string TestName(const testing::TestParamInfo<std::tuple<std::string, bool>>& info) {
  return absl::StrCat(std::get<0>(info.param), std::get<1>(info.param) ? "_symbolic" : "");
}
INSTANTIATE_TEST_SUITE_P(Models, GeneratorTest, testing::Combine(testing::ValuesIn(ModelNames()), testing::Bool()),
                         TestName);
INSTANTIATE_TEST_SUITE_P(Networks, GeneratorTest, testing::Combine(testing::ValuesIn(NetworkNames()), testing::Bool()),
                         TestName);
INSTANTIATE_TEST_SUITE_P(Parts, GeneratorTest, testing::Combine(testing::ValuesIn(PartNames()), testing::Bool()),
                         TestName);
INSTANTIATE_TEST_SUITE_P(Loops, GeneratorTest, testing::Combine(testing::ValuesIn(UnrolledNames()), testing::Bool()),
                         TestName);

// Models of narrow floats compute what those of f32 do, as exactly as their type allows.
TEST(GeneratorTest, NarrowFloats) {
  for (const auto& [type, most] :
       {std::pair(onnx::TensorProto::FLOAT16, 0.05), std::pair(onnx::TensorProto::BFLOAT16, 0.4)}) {
    for (const char* name : {"mobilenet_v2", "bert_base", "vit_b_16", "text_detector"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", static_cast<int>(type)));
      const auto wide = GenerateModel(name, {.seed = 7, .sequence = 5, .tiny = true});
      const auto narrow = GenerateModel(name, {.seed = 7, .sequence = 5, .type = type, .tiny = true});
      ASSERT_TRUE(wide.ok() && narrow.ok());
      const auto expected = OnnxModel::Load(FileOf(wide->proto), {.executor = {.interpret = true}});
      const auto compiled = OnnxModel::Load(FileOf(narrow->proto), {});
      ASSERT_TRUE(expected.ok()) << expected.status();
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      const auto want = (*expected)->Run(InputsOf(*wide, 1, 5)), got = (*compiled)->Run(InputsOf(*narrow, 1, 5));
      ASSERT_TRUE(got.ok()) << got.status();
      for (size_t i = 0; i < got->size(); ++i) {
        const NDArray &a = (*got)[i].arrays[0], &b = (*want)[i].arrays[0];
        ASSERT_EQ(a.shape(), b.shape());
        EXPECT_LT(MaxError(a, b).max_abs, most) << "output " << i;
      }
    }
  }
}

TEST(GeneratorTest, SeedDecidesWeights) {
  const GeneratorOptions options{.seed = 3, .tiny = true};
  const auto a = GenerateModel("resnet50", options), b = GenerateModel("resnet50", options);
  const auto c = GenerateModel("resnet50", {.seed = 4, .tiny = true});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->proto.SerializeAsString(), b->proto.SerializeAsString());
  EXPECT_NE(a->proto.SerializeAsString(), c->proto.SerializeAsString());
}

TEST(GeneratorTest, UnknownModelListsTheKnownOnes) {
  const auto model = GenerateModel("resnet5", {});
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.status().message().find("there is no model \"resnet5\"; there are resnet50, mobilenet_v2"),
            std::string::npos)
      << model.status();
}

}  // namespace
}  // namespace tilewright::bench
