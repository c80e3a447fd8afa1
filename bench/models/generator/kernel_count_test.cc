// How many kernels the models are. The schedules that fusion asks for depend on sizes, so that these are the sizes of
// the models; transformers have two layers of theirs, and each further layer adds what the second one does.
#include "bench/models/generator/families.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

// Nothing is compiled.
int CountKernels(const GeneratedModel& model, graph::FusionReport* report = nullptr) {
  auto owner = std::make_shared<std::string>(model.proto.SerializeAsString());
  const absl::Span<const std::byte> view(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  auto file = graph::ModelFile::FromBytes(owner, view, "");
  if (!file.ok()) return ADD_FAILURE() << file.status(), 0;
  const auto loaded = graph::OnnxModel::Load(*std::move(file), {.executor = {.interpret = true}, .report = report});
  if (!loaded.ok()) return ADD_FAILURE() << loaded.status(), 0;
  return graph::CountProgramCalls((*loaded)->module());
}

// Kernels of a transformer with `layers` layers, from what two have.
template <class Generate>
int CountOfLayers(const Generate& generate, int64_t layers) {
  const int one = CountKernels(generate(TransformerSize{.name = "one", .layers = 1}, GeneratorOptions{}));
  const int two = CountKernels(generate(TransformerSize{.name = "two", .layers = 2}, GeneratorOptions{}));
  return one + static_cast<int>(layers - 1) * (two - one);
}

// A convolution that no rule schedules joins nothing and runs some 30 times as long.
TEST(KernelCount, ResNet50) {
  graph::FusionReport report;
  EXPECT_LE(CountKernels(GenerateResNet50({}), &report), 57) << ToString(report);
  for (const auto& kernel : report.kernels) EXPECT_LT(kernel.seconds, 5e-3) << kernel.program;
}

TEST(KernelCount, MobileNetV2) {
  graph::FusionReport report;
  EXPECT_LE(CountKernels(GenerateMobileNetV2({}), &report), 55) << ToString(report);
  for (const auto& kernel : report.kernels) EXPECT_LT(kernel.seconds, 5e-3) << kernel.program;
}

TEST(KernelCount, BertBase) { EXPECT_LE(CountOfLayers(GenerateBert, 12), 130); }

TEST(KernelCount, VitB16) { EXPECT_LE(CountOfLayers(GenerateVit, 12), 130); }

}  // namespace
}  // namespace tilewright::bench
