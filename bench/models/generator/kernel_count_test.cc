// How many kernels the models are, and how many loop nests: on a GPU each of these is a launch, on a CPU some kernels
// pack an operand in a nest of its own. The schedules that fusion asks for depend on sizes, so that these are the sizes
// of the models; transformers have two layers of theirs, and each further layer adds what the second one does.
#include "bench/models/generator/families.h"
#include "bench/models/generator/testing.h"
#include "graph/executor/optimize.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

struct Counts {
  int kernels = 0, nests = 0;
};

// Nothing is compiled.
Counts CountKernels(const GeneratedModel& model, const Target& target, graph::FusionReport* report) {
  const auto loaded =
      graph::OnnxModel::Load(FileOf(model.proto), {.likely = {{"batch", {1}}, {"sequence", {256}}},
                                                   .executor = {.kernels = {.target = target}, .interpret = true},
                                                   .report = report});
  if (!loaded.ok()) return ADD_FAILURE() << loaded.status(), Counts();
  Counts counts{.kernels = graph::CountProgramCalls((*loaded)->module())};
  for (const auto& kernel : report->kernels) counts.nests += kernel.nests;
  return counts;
}

const Target& Gpu() {
  static const auto* const target = new Target(*NamedTarget("cuda-sm90a"));
  return *target;
}

// Kernels of a transformer with `layers` layers, from what two and three have: the first layer computes the mask, and
// may have kernels that no other has.
template <class Generate>
Counts CountOfLayers(const Generate& generate, const Target& target, int layers) {
  graph::FusionReport of_two, of_three;
  const Counts two =
      CountKernels(generate(TransformerSize{.name = "two", .layers = 2}, GeneratorOptions{}), target, &of_two);
  const Counts three =
      CountKernels(generate(TransformerSize{.name = "three", .layers = 3}, GeneratorOptions{}), target, &of_three);
  return {two.kernels + (layers - 2) * (three.kernels - two.kernels),
          two.nests + (layers - 2) * (three.nests - two.nests)};
}

// A convolution that no rule schedules joins nothing and runs some 30 times as long.
TEST(KernelCount, ResNet50) {
  graph::FusionReport report;
  const Counts counts = CountKernels(GenerateResNet50({}), HostTarget(), &report);
  EXPECT_LE(counts.kernels, 57) << ToString(report);
  // A Zen 3, whose L2 cache has 512 KiB, has two more than what others are held to.
  const bool small_caches = HostTarget().levels.at(1).bytes <= int64_t{512} << 10;
  EXPECT_LE(counts.nests, small_caches ? 82 : 80) << ToString(report);
  for (const auto& kernel : report.kernels) EXPECT_LT(kernel.seconds, 5e-3) << kernel.program;
}

TEST(KernelCount, MobileNetV2) {
  graph::FusionReport report;
  const Counts counts = CountKernels(GenerateMobileNetV2({}), HostTarget(), &report);
  EXPECT_LE(counts.kernels, 55) << ToString(report);
  EXPECT_LE(counts.nests, 55) << ToString(report);
  for (const auto& kernel : report.kernels) EXPECT_LT(kernel.seconds, 5e-3) << kernel.program;
}

TEST(KernelCount, BertBase) {
  const Counts counts = CountOfLayers(GenerateBert, HostTarget(), 12);
  EXPECT_LE(counts.kernels, 130);
  EXPECT_LE(counts.nests, 160);
}

TEST(KernelCount, VitB16) {
  const Counts counts = CountOfLayers(GenerateVit, HostTarget(), 12);
  EXPECT_LE(counts.kernels, 130);
  EXPECT_LE(counts.nests, 160);
}

TEST(KernelCountOnAGpu, ResNet50) {
  graph::FusionReport report;
  const Counts counts = CountKernels(GenerateResNet50({}), Gpu(), &report);
  EXPECT_LE(counts.kernels, 57) << ToString(report);
  EXPECT_LE(counts.nests, 57) << ToString(report);
}

TEST(KernelCountOnAGpu, MobileNetV2) {
  graph::FusionReport report;
  const Counts counts = CountKernels(GenerateMobileNetV2({}), Gpu(), &report);
  EXPECT_LE(counts.kernels, 55) << ToString(report);
  EXPECT_LE(counts.nests, 55) << ToString(report);
}

TEST(KernelCountOnAGpu, BertBase) {
  const Counts counts = CountOfLayers(GenerateBert, Gpu(), 12);
  EXPECT_LE(counts.kernels, 130);
  EXPECT_LE(counts.nests, 158);
}

TEST(KernelCountOnAGpu, VitB16) {
  const Counts counts = CountOfLayers(GenerateVit, Gpu(), 12);
  EXPECT_LE(counts.kernels, 130);
  EXPECT_LE(counts.nests, 149);
}

// Batch and sequence that are known at a call alone, and likely to be what they are in the other files, take no more
// kernels and loops than constant ones.
using Generate = GeneratedModel (*)(const GeneratorOptions& options);

// A machine whose memory is not measured here: decisions are the same everywhere.
Target TwoCores() {
  Target target = *NamedTarget("x86-znver3");
  target.cores = 2;
  return target;
}

void ExpectNoMoreWithSymbolicSizes(const Generate& generate) {
  const Target target = TwoCores();
  graph::FusionReport constant, symbolic;
  const Counts wanted = CountKernels(generate({}), target, &constant);
  const Counts found = CountKernels(generate({.symbolic = true}), target, &symbolic);
  EXPECT_LE(found.kernels, wanted.kernels) << ToString(symbolic) << ToString(constant);
  EXPECT_LE(found.nests, wanted.nests) << ToString(symbolic) << ToString(constant);
}

GeneratedModel TwoLayersOfBert(const GeneratorOptions& options) {
  return GenerateBert(TransformerSize{.name = "two", .layers = 2}, options);
}

TEST(SymbolicKernelCount, ResNet50) { ExpectNoMoreWithSymbolicSizes(GenerateResNet50); }
TEST(SymbolicKernelCount, MobileNetV2) { ExpectNoMoreWithSymbolicSizes(GenerateMobileNetV2); }
TEST(SymbolicKernelCount, Bert) { ExpectNoMoreWithSymbolicSizes(TwoLayersOfBert); }

}  // namespace
}  // namespace tilewright::bench
