#include "autoschedule/cost/projected.h"

#include <gtest/gtest.h>

#include "autoschedule/cost/tiled_matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");  // 2 cores, one FMA of 16 lanes a cycle, 32 KiB, 1 MiB, 32 MiB

TEST(Projected, RanksTiles) {
  const auto seconds = [](int rows, int vectors, const char* outer) {
    return Project(TiledMatmul(rows, vectors, outer, 512), kZen4).seconds;
  };
  const double good = seconds(8, 2, "parallel");
  const double peak_seconds = 512.0 * 512 * 512 / (2 * 16 * kZen4.clock_ghz * 1e9);
  EXPECT_GT(good, peak_seconds);
  EXPECT_LT(good, 1.5 * peak_seconds);
  EXPECT_GT(seconds(8, 2, "serial"), 1.9 * good);
  EXPECT_GT(seconds(1, 2, "parallel"), 1.5 * good);    // too few chains, a load for each FMA
  EXPECT_GT(seconds(16, 4, "parallel"), 1.15 * good);  // 64 vectors do not fit into 32 registers
}

TEST(Projected, NamesTheLimiter) {
  EXPECT_EQ(Project(TiledMatmul(8, 2, "parallel", 512), kZen4).limiter, "arithmetic");
  const Projection latency = Project(TiledMatmul(1, 1, "parallel", 512), kZen4);
  EXPECT_EQ(latency.limiter, "latency");
  EXPECT_GT(latency.latency_seconds, latency.throughput_seconds);
  const Function copy = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16777216,), "float32"), B: T.Buffer((16777216,), "float32")):
    for i in T.parallel(1024):
        for j in T.serial(1024):
            for l in T.vectorized(16):
                with T.block("B"):
                    vi = T.axis.spatial(16777216, i * 16384 + j * 16 + l)
                    B[vi] = A[vi]
)");
  const Projection memory = Project(copy, kZen4);
  EXPECT_EQ(memory.limiter, "memory");
  EXPECT_EQ(memory.cores_used, 2);
  EXPECT_NEAR(memory.levels[2].seconds, 3 * 67.1e6 / (kZen4.memory_gbs * 1e9), 1e-4);
  const Function tiny = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((32,), "float32")):
    for i in T.parallel(2):
        for l in T.vectorized(16):
            with T.block("A"):
                vi = T.axis.spatial(32, i * 16 + l)
                A[vi] = A[vi] + T.float32(1)
)");
  EXPECT_EQ(Project(tiny, kZen4).limiter, "threads");
}

TEST(Projected, CountsImbalance) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((3, 4096), "float32")):
    for i in T.parallel(3):
        for j in T.vectorized(4096):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + T.float32(1)
)");
  const Projection p = Project(f, kZen4);
  EXPECT_EQ(p.cores_used, 2);
  EXPECT_DOUBLE_EQ(p.balance, 0.75);
  EXPECT_EQ(p.forks, 1);
}

TEST(Projected, PredictsSecondsOfEachCandidate) {
  const std::vector<Function> candidates = {TiledMatmul(8, 2, "parallel", 512), TiledMatmul(1, 1, "serial", 512)};
  const std::vector<double> seconds = ProjectedModel(kZen4).Predict(candidates);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_LT(seconds[0], seconds[1]);
}

}  // namespace
}  // namespace tilewright
