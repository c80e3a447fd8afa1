#include "autoschedule/cost/speed_of_light.h"

#include <gtest/gtest.h>

#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/tiled_matmul.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");  // 2 cores, one FMA of 16 lanes a cycle, 32 KiB, 1 MiB, 32 MiB

TEST(SpeedOfLight, MatmulIsArithmetic) {
  const SpeedOfLight limit = SpeedOfLightOf(ops::Matmul(512, 512, 512), kZen4);
  EXPECT_EQ(limit.multiply_adds, 512.0 * 512 * 512);
  EXPECT_DOUBLE_EQ(limit.seconds, 512.0 * 512 * 512 / (2 * 16 * kZen4.clock_ghz * 1e9));
  EXPECT_EQ(limit.bytes, 3 * 512 * 512 * 4);
  EXPECT_EQ(limit.from, "L3");
  // A bound: no projection is below it, and scheduling does not move it.
  const Function tiled = TiledMatmul(8, 2, "parallel", 512);
  EXPECT_DOUBLE_EQ(SpeedOfLightOf(tiled, kZen4).seconds, limit.seconds);
  EXPECT_GT(Project(tiled, kZen4).seconds, limit.seconds);
}

TEST(SpeedOfLight, NarrowTypesAreFaster) {
  const auto seconds = [](DataType in, DataType out) {
    return SpeedOfLightOf(ops::Matmul(512, 512, 512, {in, in, out}), kZen4).arithmetic_seconds;
  };
  const double f32 = seconds(DataType::Float(32), DataType::Float(32));
  EXPECT_DOUBLE_EQ(seconds(DataType::BFloat16(), DataType::Float(32)), f32 / 2);
  EXPECT_DOUBLE_EQ(seconds(DataType::Int(8), DataType::Int(32)), f32 / 4);
}

TEST(SpeedOfLight, PaddingIsNotWork) {
  const SpeedOfLight limit = SpeedOfLightOf(
      ops::Conv({.spatial = {14, 14}, .in_channels = 256, .out_channels = 256, .windows = ops::Same({3, 1, 1}, 2)}),
      kZen4);
  // A window of 3 at 14 positions has 40 of 42 reads inside of the image, in each direction.
  EXPECT_NEAR(limit.multiply_adds, 14.0 * 14 * 256 * 256 * 9 * (40.0 / 42) * (40.0 / 42), 1);
}

TEST(SpeedOfLight, ZerosBetweenStridesAreNotWork) {
  const SpeedOfLight limit = SpeedOfLightOf(ops::ConvTranspose(1, 8, 8, 256, 128, {4, 2, 1}), kZen4);
  // In each direction 8 positions meet 4 weights each; the first and the last of these 32 products lie outside.
  EXPECT_NEAR(limit.multiply_adds, 30.0 * 30 * 256 * 128, 0.01 * 30 * 30 * 256 * 128);
}

// The rows of a sparse matrix are as long as data says.
TEST(SpeedOfLight, LoopsThatDataEndsDoNotCount) {
  const SpeedOfLight limit = SpeedOfLightOf(ParseFunctionOrDie(R"(
@T.prim_func
def main(P: T.Buffer((33,), "int32"), V: T.Buffer((512,), "float32"), D: T.Buffer((32,), "float32"),
         Y: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("start"):
            vi = T.axis.spatial(32, i)
            Y[vi] = D[vi] * T.float32(3) + T.float32(1)
    for i in range(32):
        with T.block("row"):
            vi = T.axis.spatial(32, i)
            for k in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + k] * V[P[vi] + k]
)"),
                                            kZen4);
  EXPECT_FALSE(limit.whole);
  EXPECT_EQ(limit.multiply_adds, 32);
  EXPECT_EQ(limit.bytes, (32 + 32) * 4);
  EXPECT_TRUE(SpeedOfLightOf(ops::Matmul(8, 8, 8), kZen4).whole);
}

TEST(SpeedOfLight, OfProgramAndScheduleTheLesserBinds) {
  const Function large = ops::Matmul(512, 512, 512), small = ops::Matmul(512, 512, 256);
  const double least = SpeedOfLightOf(small, kZen4).seconds;
  EXPECT_LT(least, SpeedOfLightOf(large, kZen4).seconds);
  EXPECT_EQ(BoundSeconds(large, small, kZen4), least);
  EXPECT_EQ(BoundSeconds(small, large, kZen4), least);
}

TEST(SpeedOfLight, PredictsSecondsOfEachCandidate) {
  const std::vector<Function> candidates = {TiledMatmul(8, 2, "parallel", 512), TiledMatmul(1, 1, "serial", 512)};
  const std::vector<double> seconds = SpeedOfLightModel(kZen4).Predict(candidates);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0], seconds[1]);
}

}  // namespace
}  // namespace tilewright
