#include "autoschedule/cost/projected.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "autoschedule/cost/memory_traffic.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/cost/tiled_matmul.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");  // 2 cores, one FMA of 16 lanes a cycle, 32 KiB, 1 MiB, 32 MiB

const Region& LongestRegion(const std::vector<Region>& regions) {
  return *std::max_element(regions.begin(), regions.end(),
                           [](const Region& a, const Region& b) { return a.iterations < b.iterations; });
}

TEST(InstructionMix, CountsARegisterTile) {
  const Function f = TiledMatmul(8, 2, "parallel", 512);
  const ProgramFacts facts = GatherFacts(f);
  const std::vector<double> iterations = CoreIterations(facts, 2);
  EXPECT_EQ(iterations[0], 8);  // of 16 panels
  const std::vector<Region> regions = RegionsOf(facts, kZen4, iterations);
  const Region& inner = LongestRegion(regions);
  EXPECT_EQ(inner.iterations, 8 * 64 * 512);
  EXPECT_EQ(inner.counts.multiply_adds, 16);
  EXPECT_EQ(inner.counts.narrow_loads, 8);  // broadcast
  EXPECT_EQ(inner.counts.loads, 2);         // B, once for all rows
  EXPECT_EQ(inner.counts.stores, 0);
  EXPECT_EQ(inner.chained, 1);
  EXPECT_EQ(inner.register_vectors, 16 + 2 + 1);
  EXPECT_TRUE(inner.vectorized);
  double stores = 0;
  for (const Region& region : regions) stores += region.counts.stores * region.iterations;
  EXPECT_EQ(stores, 512 * 512 / 16 / 2);
}

// Vectors of groups of four: neighbours along the columns lie four elements apart, and side by side.
TEST(InstructionMix, LoadsPanelsOfGroups) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((256,), "uint8"), B: T.Buffer((64, 16, 4), "int8"), C: T.Buffer((16,), "int32")):
    for k in range(64):
        for l in T.vectorized(16):
            with T.block("C"):
                vk, vl = T.axis.remap("RS", [k, l])
                with T.init():
                    C[vl] = 0
                C[vl] = T.dot_add(C[vl], A[vk * 4:vk * 4 + 4], B[vk, vl, 0:4])
)");
  const ProgramFacts facts = GatherFacts(f);
  const InstructionCounts& counts = LongestRegion(RegionsOf(facts, kZen4, CoreIterations(facts, 1))).counts;
  EXPECT_EQ(counts.gathered, 0);
  EXPECT_EQ(counts.dots, 1);
  EXPECT_EQ(counts.loads, 1 + 1);  // of B and of the sum
}

TEST(InstructionMix, WhatTheCompilerVectorizes) {
  const auto region_of = [](const char* value) {
    const Function f = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = $0
)",
                                                           value));
    const ProgramFacts facts = GatherFacts(f);
    return LongestRegion(RegionsOf(facts, kZen4, CoreIterations(facts, 1)));
  };
  const Region copies = region_of("A[vi, vj] + A[vi, 0]");
  EXPECT_TRUE(copies.vectorized);
  EXPECT_EQ(copies.counts.stores, 1.0 / 16);
  EXPECT_EQ(copies.counts.loads, 1.0 / 16);
  EXPECT_EQ(copies.counts.narrow_loads, 1.0 / 64);  // A[vi, 0] is loaded before the loop
  const Region transposes = region_of("A[vj, vi]");
  EXPECT_FALSE(transposes.vectorized);
  EXPECT_EQ(transposes.counts.stores, 1);
}

TEST(MemoryTraffic, PanelsComeFromTheLevelThatHoldsThem) {
  const Function f = TiledMatmul(8, 2, "serial", 512);
  const ProgramFacts facts = GatherFacts(f);
  const MemoryTraffic traffic = TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1);
  ASSERT_EQ(traffic.levels.size(), 3u);
  EXPECT_EQ(traffic.levels[0].from, "L2");
  EXPECT_EQ(traffic.levels[2].from, "memory");
  // B's panel (64 KiB) does not stay in L1: all of B for each of 64 tile rows. A for each of 16 panels, C once.
  const double matrix = 512 * 512 * 4;
  EXPECT_NEAR(traffic.levels[0].read_bytes, 64 * matrix + 16 * matrix + matrix, 0.02 * 81 * matrix);
  EXPECT_EQ(traffic.levels[0].written_bytes, matrix);
  // L2 keeps the panel but not A.
  EXPECT_LT(traffic.levels[1].read_bytes, 18 * matrix);
  EXPECT_GT(traffic.levels[1].read_bytes, 2 * matrix);
  EXPECT_EQ(traffic.levels[2].read_bytes, 0);  // all three stay in L3 from one run to the next
}

TEST(MemoryTraffic, RowsInTheSameSetsEvictEachOther) {
  const Function aligned = TiledMatmul(8, 2, "serial", 1024);
  const Function f = TiledMatmul(8, 2, "serial", 1056);  // rows of 4224 bytes
  const auto l2_bytes = [](const Function& function) {
    const ProgramFacts facts = GatherFacts(function);
    return TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1).levels[0].read_bytes / facts.Iterations(0) /
           facts.buffers[0].bytes;
  };
  EXPECT_GT(l2_bytes(aligned), 3 * l2_bytes(f));
}

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
  // Of 14 positions of a window of 3, 40 of 42 reads are inside of the image, in each direction.
  EXPECT_NEAR(limit.multiply_adds, 14.0 * 14 * 256 * 256 * 9 * (40.0 / 42) * (40.0 / 42), 1);
}

TEST(SpeedOfLight, ZerosBetweenStridesAreNotWork) {
  const SpeedOfLight limit = SpeedOfLightOf(ops::ConvTranspose(1, 8, 8, 256, 128, {4, 2, 1}), kZen4);
  // In each direction 8 positions meet 4 weights each; the first and the last of these 32 products lie outside.
  EXPECT_NEAR(limit.multiply_adds, 30.0 * 30 * 256 * 128, 0.01 * 30 * 30 * 256 * 128);
}

TEST(CostModels, PredictSeconds) {
  const std::vector<Function> candidates = {TiledMatmul(8, 2, "parallel", 512), TiledMatmul(1, 1, "serial", 512)};
  for (const CostModel* model : {static_cast<const CostModel*>(new ProjectedModel(kZen4)),
                                 static_cast<const CostModel*>(new SpeedOfLightModel(kZen4))}) {
    const std::vector<double> seconds = model->Predict(candidates);
    ASSERT_EQ(seconds.size(), 2u);
    EXPECT_LE(seconds[0], seconds[1]);
    delete model;
  }
}

}  // namespace
}  // namespace tilewright
