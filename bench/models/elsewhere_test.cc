#include "bench/models/elsewhere.h"

#include <cmath>

#include "bench/models/generator/testing.h"
#include "bench/models/model_kernels.h"
#include "bench/models/output_error.h"
#include "codegen/remote/launcher.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

Target Gpu() { return *NamedTarget("cuda-sm90a"); }

TEST(Elsewhere, AGpuIsProjectedAndEmulated) {
  const auto gpu = Elsewhere::On(Gpu(), {});
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  const ElsewhereResult result = gpu->Run({.name = "mobilenet_v2", .batch = 16, .dtype = "f16", .tiny = true});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_GT(result.functions, 0);
  EXPECT_GE(result.launches, result.functions);
  EXPECT_GT(result.projected_ms, 0);
  EXPECT_EQ(result.profile.size(), static_cast<size_t>(result.functions));
  EXPECT_EQ(result.emulated, "tiny, batch 2");
  // What the plan says is launched, in one graph, with nothing allocated: constants are there already.
  EXPECT_EQ(result.counts.launches, result.reduced_launches);
  EXPECT_EQ(result.counts.runs, 1);
  EXPECT_EQ(result.counts.allocations, 0);
  EXPECT_EQ(result.counts.copies_in, 1);
  const auto json = nlohmann::json::parse(ElsewhereJson({result}, {"pytorch: not available"}, "commit", "models"));
  EXPECT_EQ(json["source"], "projected");
  EXPECT_EQ(json["results"][0]["launches"], result.launches);
  EXPECT_NE(ElsewhereText({result}, {"pytorch: not available"}).find("mobilenet_v2 batch=16 f16"), std::string::npos);
}

TEST(Elsewhere, AnotherCpuCountsInstructions) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status();
  const auto arm = Elsewhere::On(target, {});
  ASSERT_TRUE(arm.ok()) << arm.status();
  const ElsewhereResult result = arm->Run({.name = "mobilenet_v2", .tiny = true});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_GT(result.instructions, 1000);
  EXPECT_EQ(result.counts.runs, 0);
}

TEST(Elsewhere, APeerRunsInTheSameEmulator) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status();
  if (const auto missing = MissingPeers(target, {"onnxruntime"}); !missing.empty()) GTEST_SKIP() << missing[0];
  const auto arm = Elsewhere::On(target, {.peers = {"onnxruntime"}});
  ASSERT_TRUE(arm.ok()) << arm.status();
  const ElsewhereResult result = arm->Run({.name = "mobilenet_v2", .tiny = true});
  ASSERT_TRUE(result.ok()) << result.error;
  ASSERT_EQ(result.peers.size(), 1u);
  EXPECT_EQ(result.peers[0].error, "");
  EXPECT_GT(result.peers[0].instructions, 1000);
  EXPECT_LT(result.peers[0].max_rel_error, 1e-3);
}

TEST(Elsewhere, InstructionsAreComparedWithExactPeers) {
  const ElsewhereResult ours = {.model = "m", .instructions = 90, .tolerance = 1e-3};
  ElsewhereResult exact = ours, inexact = ours, failed = ours;
  exact.peers = {{.name = "p", .version = "1", .instructions = 100}};
  inexact.peers = {{.name = "p", .version = "1", .instructions = 10, .max_rel_error = 0.5}};
  failed.peers = {{.name = "p", .error = "does not start"}};
  const std::string text = ElsewhereText({exact, inexact, failed}, {});
  EXPECT_NE(text.find("p 1: 100 instructions, error 0.0e+00, ours are 0.900 of them"), std::string::npos) << text;
  EXPECT_NE(text.find("p 1: 10 instructions, error 5.0e-01\n"), std::string::npos) << text;
  EXPECT_NE(text.find("p: does not start"), std::string::npos) << text;
  EXPECT_NE(text.find("geometric mean 0.900, greatest 0.900, 1 models"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(ElsewhereJson({exact, inexact}, {}, "commit", "models"));
  EXPECT_DOUBLE_EQ(json["results"][0]["peers"][0]["ratio"], 0.9);
  EXPECT_FALSE(json["results"][1]["peers"][0].contains("ratio"));
}

TEST(Elsewhere, OutputsMayBeFurtherApartWhereTheCallerSaysSo) {
  const auto gpu = Elsewhere::On(Gpu(), {.emulate = false, .tolerance = 0.25});
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  EXPECT_EQ(gpu->Run({.name = "mobilenet_v2", .tiny = true}).tolerance, 0.25);
}

TEST(Elsewhere, UnknownCombinationsAreRefused) {
  EXPECT_FALSE(Elsewhere::On(HostTarget(), {}).ok());
  EXPECT_FALSE(Elsewhere::On(*NamedTarget("arm-neoverse-n1"), {.compile = true}).ok());
  EXPECT_FALSE(Elsewhere::On(Gpu(), {.full = true}).ok());
  EXPECT_FALSE(CheckType("f64", Gpu()).ok());
  EXPECT_FALSE(CheckType("bf16", *NamedTarget("arm-neoverse-n1")).ok());
  EXPECT_TRUE(CheckType("bf16", Gpu()).ok());
  const auto gpu = Elsewhere::On(Gpu(), {});
  ASSERT_TRUE(gpu.ok());
  EXPECT_NE(gpu->Run({.name = "nothing"}).error.find("there is no model"), std::string::npos);
}

TEST(ModelKernels, SomeAreCompiledWithoutSpills) {
  const auto model = GenerateModel("resnet50", {.tiny = true});
  ASSERT_TRUE(model.ok());
  const auto loaded =
      graph::OnnxModel::Load(FileOf(model->proto), {.executor = {.kernels = {.target = Gpu()}, .interpret = true}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto kernels = CompileModelKernels((*loaded)->module(), Gpu(), /*most=*/3);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_EQ(kernels->compiled, 3);
  EXPECT_TRUE(kernels->refused.empty()) << kernels->refused[0];
  EXPECT_FALSE(CompileModelKernels((*loaded)->module(), HostTarget()).ok());
}

TEST(RelativeError, IsInfiniteWhereShapesDiffer) {
  NDArray a(DataType::Float(32), {2}), b(DataType::Float(32), {2});
  a.Set(0, 2);
  b.Set(0, 2.5);
  EXPECT_DOUBLE_EQ(RelativeError({b}, {a}), 0.25);
  EXPECT_EQ(RelativeError({a}, {NDArray(DataType::Float(32), {3})}), INFINITY);
  EXPECT_EQ(RelativeError({a}, {}), INFINITY);
}

}  // namespace
}  // namespace tilewright::bench
