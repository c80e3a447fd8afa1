// Small versions of the generated models on emulated machines compute what the interpreter does at opt_level 0.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/testing.h"
#include "codegen/remote/launcher.h"
#include "graph/device/device.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using graph::OnnxModel;

constexpr int64_t kTokens = 5;

// Two runs on the machine against one of the interpreter. `tolerance`: beside the largest number of an output.
void Compare(const std::string& name, const graph::ExecutorOptions& machine, const graph::PassContext& passes = {},
             double tolerance = 1e-4) {
  const auto model = GenerateModel(name, {.seed = 7, .sequence = kTokens, .tiny = true});
  ASSERT_TRUE(model.ok()) << model.status();
  const OnnxModel::Inputs inputs = InputsOf(*model, 1, kTokens);
  const auto plain =
      OnnxModel::Load(FileOf(model->proto), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto want = (*plain)->Run(inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto loaded = OnnxModel::Load(FileOf(model->proto), {.executor = machine, .passes = passes});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (int run = 0; run < 2; ++run) {
    const auto got = (*loaded)->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < got->size(); ++i) {
      const NDArray& expected = (*want)[i].arrays[0];
      const double largest = std::max(1.0, MaxError(expected, NDArray(expected.dtype(), expected.shape())).max_abs);
      EXPECT_LT(MaxError((*got)[i].arrays[0], expected).max_abs, tolerance * largest) << "output " << i;
    }
  }
}

class MachinesTest : public testing::TestWithParam<std::string> {};

TEST_P(MachinesTest, EmulatedGpu) {
  const auto device = graph::EmulatedGpu();
  ASSERT_TRUE(device.ok()) << device.status();
  Compare(GetParam(),
          {.kernels = {.target = *NamedTarget("cuda-sm90a"), .use = graph::KernelUse::kDevice, .emulate = true},
           .device = *device});
  EXPECT_EQ((*device)->counts().runs, 2);
}

TEST_P(MachinesTest, HalfPrecisionOnAnEmulatedGpu) {
  const auto device = graph::EmulatedGpu();
  ASSERT_TRUE(device.ok()) << device.status();
  Compare(GetParam(),
          {.kernels = {.target = *NamedTarget("cuda-sm90a"), .use = graph::KernelUse::kDevice, .emulate = true},
           .device = *device},
          {.precision = graph::Precision::kFloat16}, 1e-2);
}

TEST_P(MachinesTest, BFloat16Here) {
  Compare(GetParam(), {.num_threads = 2}, {.precision = graph::Precision::kBFloat16}, 4e-2);
}

TEST_P(MachinesTest, EmulatedArm) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status();
  Compare(GetParam(), {.kernels = {.target = target, .use = graph::KernelUse::kExport},
                       .worker = graph::WorkerOptions{.target = target}});
}

INSTANTIATE_TEST_SUITE_P(Models, MachinesTest, testing::ValuesIn(ModelNames()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Networks, MachinesTest, testing::ValuesIn(NetworkNames()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Parts, MachinesTest, testing::ValuesIn(PartNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tilewright::bench
