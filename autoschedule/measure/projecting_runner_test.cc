#include "autoschedule/measure/projecting_runner.h"

#include <gtest/gtest.h>

#include "autoschedule/cost/projected.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// Rows of 1,024 elements doubled, `blocks` of threads.
Module Doubled(int blocks, const std::string& name = "main") {
  const std::string threads = std::to_string(1024 / blocks);
  return ParseOrDie("@T.prim_func\ndef " + name + R"((A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    for b in T.thread_binding()" +
                    std::to_string(blocks) + R"(, thread="blockIdx.x"):
        for t in T.thread_binding()" +
                    threads + R"(, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(1024, b * )" +
                    threads + R"( + t)
                B[v] = A[v] * T.float32(2)
)");
}

TEST(ProjectingRunner, GivesProjectedTimes) {
  const Target target = *NamedTarget("cuda-sm80");
  ProjectingRunner runner(target, "main", nullptr);
  const std::vector<Module> candidates = {Doubled(8), Doubled(1024), Doubled(8, "other")};
  const std::vector<Measurement> results = runner.Run(candidates, {});
  ASSERT_EQ(results.size(), 3u);
  for (int i : {0, 1}) {
    ASSERT_TRUE(results[static_cast<size_t>(i)].ok());
    EXPECT_EQ(results[static_cast<size_t>(i)].MedianSeconds(),
              Project(candidates[static_cast<size_t>(i)].Find("main"), target).seconds);
  }
  EXPECT_EQ(results[2].failure, MeasureFailure::kRunError);
  EXPECT_EQ(results[2].message, "the candidate has no function main");
}

// Refuses every candidate.
class RefusingBuilder : public Builder {
 public:
  std::vector<BuiltCandidate> Build(std::span<const Module> candidates, const Counters&) override {
    std::vector<BuiltCandidate> built(candidates.size());
    for (BuiltCandidate& candidate : built) {
      candidate.measurement = FailedMeasurement(MeasureFailure::kOverLimit, "12 bytes of spills");
    }
    return built;
  }
};

TEST(ProjectingRunner, KeepsWhatItsBuilderRefuses) {
  ProjectingRunner runner(*NamedTarget("cuda-sm80"), "main", std::make_unique<RefusingBuilder>());
  const std::vector<Module> candidates = {Doubled(8)};
  EXPECT_EQ(runner.Run(candidates, {})[0].message, "12 bytes of spills");
}

TEST(ProjectingRunner, SaysThatNothingRan) {
  const ProjectingRunner runner(*NamedTarget("cuda-sm80"), "main", nullptr);
  EXPECT_EQ(
      runner.caution(),
      "nothing was run: this machine has no GPU for cuda-sm80, times are projected, and NVRTC is not installed, so "
      "spills are not seen");
}

}  // namespace
}  // namespace tilewright
