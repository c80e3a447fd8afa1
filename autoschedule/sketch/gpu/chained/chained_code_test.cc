// Machine code of chains on GPUs: no spills where NVRTC is installed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/sketch/chained/chained_variants.h"
#include "autoschedule/sketch/gpu/chained/chained_gpu_testing.h"
#include "codegen/counters.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;

void ExpectNoSpills(const ChainedVariant& variant, const char* target, const char* architecture, const char* sketch) {
  SCOPED_TRACE(target);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled scheduled =
      testing::Scheduled(ParseFunctionOrDie(TextOf(variant)), *NamedTarget(target), intrins, sketch);
  const std::string text = cuda::testing::KernelText(scheduled.schedule.module().Main(), target);
  const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, architecture);
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  Counters counters = cuda::CountersOfLog(cubin->log);
  EXPECT_EQ(counters[kSpillBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kStackBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kPtxasWarningsCounter], 0) << cubin->log;
}

// Those with the most registers: many rows, and heads of at least 64 elements.
std::vector<ChainedVariant> Widest(std::vector<ChainedVariant> variants) {
  std::erase_if(variants, [](const ChainedVariant& v) { return v.depth < 64 || v.rows < 64; });
  return variants;
}
// Heads of 128 elements spill by fragments (docs/STATUS.md).
std::vector<ChainedVariant> Narrow() {
  std::vector<ChainedVariant> variants = Widest(testing::NarrowVariants());
  std::erase_if(variants, [](const ChainedVariant& v) { return v.depth > 64; });
  return variants;
}

class ChainedTilesCode : public ::testing::TestWithParam<ChainedVariant> {};
TEST_P(ChainedTilesCode, DoesNotSpill) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  ExpectNoSpills(GetParam(), "cuda-sm80", "sm_80", "chained_tiles");
}
INSTANTIATE_TEST_SUITE_P(All, ChainedTilesCode, ::testing::ValuesIn(Widest(testing::Variants())),
                         testing::NameOfVariant);

class ChainedFragmentsCode : public ::testing::TestWithParam<ChainedVariant> {};
TEST_P(ChainedFragmentsCode, DoesNotSpill) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  ExpectNoSpills(GetParam(), "cuda-sm80", "sm_80", "chained_fragments");
  ExpectNoSpills(GetParam(), "cuda-sm90a", "sm_90a", "chained_fragments");
}
INSTANTIATE_TEST_SUITE_P(All, ChainedFragmentsCode, ::testing::ValuesIn(Narrow()), testing::NameOfVariant);

}  // namespace
}  // namespace tilewright
