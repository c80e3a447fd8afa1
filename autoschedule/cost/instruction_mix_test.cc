#include "autoschedule/cost/instruction_mix.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "autoschedule/cost/tiled_matmul.h"
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

// Ten rows of two vectors. A's groups are broadcast from where they are.
TEST(InstructionMix, GroupsThatAreBroadcastHoldNoRegisters) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((10, 256), "uint8"), B: T.Buffer((64, 32, 4), "int8"), C: T.Buffer((10, 32), "int32")):
    A_reg = T.alloc_buffer((10, 256), "uint8", scope="register")
    C_reg = T.alloc_buffer((10, 32), "int32", scope="register")
    for k in range(64):
        for i in T.unroll(10):
            for g in T.vectorized(4):
                with T.block("A"):
                    vi = T.axis.spatial(10, i)
                    vk = T.axis.spatial(256, k * 4 + g)
                    A_reg[vi, vk] = A[vi, vk]
        for i in T.unroll(10):
            for v in T.unroll(2):
                for l in T.vectorized(16):
                    with T.block("C"):
                        vi = T.axis.spatial(10, i)
                        vj = T.axis.spatial(32, v * 16 + l)
                        vk = T.axis.reduce(64, k)
                        with T.init():
                            C_reg[vi, vj] = 0
                        C_reg[vi, vj] = T.dot_add(C_reg[vi, vj], A_reg[vi, vk * 4:vk * 4 + 4], B[vk, vj, 0:4])
    for i in T.unroll(10):
        for j in T.vectorized(32):
            with T.block("write"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C_reg[vi, vj]
)");
  const ProgramFacts facts = GatherFacts(f);
  EXPECT_EQ(LongestRegion(RegionsOf(facts, kZen4, CoreIterations(facts, 1))).register_vectors, 20 + 2 + 1);
}

// Two rows of 16 bits whose elements alternate afterwards: two loads and a store, not 32 of each.
TEST(InstructionMix, InterleavedRowsAreLoadedByRow) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "bfloat16"), B: T.Buffer((32, 64, 2), "bfloat16")):
    for k, jo in T.grid(32, 4):
        for ji in T.vectorized(16):
            for p in T.vectorized(2):
                with T.block("B"):
                    vk = T.axis.spatial(32, k)
                    vj = T.axis.spatial(64, jo * 16 + ji)
                    vp = T.axis.spatial(2, p)
                    B[vk, vj, vp] = A[vk * 2 + vp, vj]
)");
  const ProgramFacts facts = GatherFacts(f);
  const InstructionCounts counts = LongestRegion(RegionsOf(facts, kZen4, CoreIterations(facts, 1))).counts;
  EXPECT_EQ(counts.gathered, 0);
  EXPECT_EQ(counts.loads, 2);
  EXPECT_EQ(counts.stores, 1);
}

// 64 rows in vectors that go down them: of a column of 64 bytes four loads of 16 bytes, three that join these, and four
// that interleave. Columns that are too few are loaded byte by byte.
TEST(InstructionMix, TransposedRowsAreLoadedByPart) {
  const auto counts_of = [](int columns) {
    const Function f = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64, 256), "uint8"), B: T.Buffer((256, 64), "uint8")):
    for io in range($0):
        for ii in T.unroll($1):
            for j in T.vectorized(64):
                with T.block("B"):
                    vi = T.axis.spatial(256, io * $1 + ii)
                    vj = T.axis.spatial(64, j)
                    B[vi, vj] = A[vj, vi]
)",
                                                           256 / columns, columns));
    const ProgramFacts facts = GatherFacts(f);
    return LongestRegion(RegionsOf(facts, kZen4, CoreIterations(facts, 1))).counts;
  };
  const InstructionCounts many = counts_of(32);
  EXPECT_EQ(many.gathered, 0);
  EXPECT_EQ(many.narrow_loads, 32 * 4);
  EXPECT_EQ(many.arithmetic, 32 * (3 + 4));
  EXPECT_EQ(many.stores, 32);
  EXPECT_EQ(counts_of(2).gathered, 2 * 64);
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

}  // namespace
}  // namespace tilewright
