#include "autoschedule/cost/pace.h"

#include <gtest/gtest.h>

#include "autoschedule/cost/tiled_matmul.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");
constexpr double kFactor = 10;

TEST(Pace, ProgramsThatNobodyScheduledAreSlow) {
  const Function product = ops::Matmul(512, 512, 512);
  const Pace written = PaceOf(product, product, kZen4, kFactor);
  EXPECT_TRUE(written.slow);
  EXPECT_GT(written.Factor(), kFactor);
  EXPECT_GT(written.limit_seconds, 0);
  const Pace tiled = PaceOf(product, TiledMatmul(8, 2, "parallel", 512), kZen4, kFactor);
  EXPECT_FALSE(tiled.slow) << tiled.Factor();
  EXPECT_EQ(tiled.limit_seconds, written.limit_seconds);
  EXPECT_FALSE(tiled.limiter.empty());
}

TEST(Pace, GpusAreJudgedAlike) {
  const Function product = ops::Matmul(512, 512, 512);
  EXPECT_TRUE(PaceOf(product, product, *NamedTarget("cuda-sm90a"), kFactor).slow);
}

// What is shorter than a start of a kernel gains nothing from a schedule.
TEST(Pace, SmallProgramsAreNotSlow) {
  const Function product = ops::Matmul(4, 4, 4);
  const Pace pace = PaceOf(product, product, kZen4, kFactor);
  EXPECT_GT(pace.Factor(), kFactor);
  EXPECT_FALSE(pace.slow) << pace.seconds;
}

TEST(Pace, LoopsThatDataEndsAreNotJudged) {
  const Function rows = ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((33,), "int32"), V: T.Buffer((512,), "float32"), Y: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("row"):
            vi = T.axis.spatial(32, i)
            for k in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + k] * V[P[vi] + k]
)");
  EXPECT_FALSE(PaceOf(rows, rows, kZen4, kFactor).slow);
}

}  // namespace
}  // namespace tilewright
