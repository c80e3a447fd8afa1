#include "autoschedule/cost/memory_traffic.h"

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "autoschedule/cost/instruction_mix.h"
#include "autoschedule/cost/tiled_matmul.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");  // 2 cores, one FMA of 16 lanes a cycle, 32 KiB, 1 MiB, 32 MiB

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
  const auto l2_bytes = [](const Function& function) {
    const ProgramFacts facts = GatherFacts(function);
    return TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1).levels[0].read_bytes / facts.Iterations(0) /
           facts.buffers[0].bytes;
  };
  // Rows of 4096 bytes, which begin in one set, and of 4224.
  EXPECT_GT(l2_bytes(TiledMatmul(16, 1, "serial", 1024)), 3 * l2_bytes(TiledMatmul(16, 1, "serial", 1056)));
  // As many as a set has lines stay.
  EXPECT_LT(l2_bytes(TiledMatmul(8, 2, "serial", 1024)), 1.1 * l2_bytes(TiledMatmul(8, 2, "serial", 1056)));
}

// 512 rows of 512 columns, written in tiles of 8 rows and 32 columns.
TEST(MemoryTraffic, LinesOfNarrowPanelsAreScattered) {
  const auto scattered_part = [](const char* loops) {
    const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(C: T.Buffer((512, 512), "float32")):
    for $0:
        for ii in T.unroll(8):
            for ji in T.vectorized(32):
                with T.block("C"):
                    vi = T.axis.spatial(512, io * 8 + ii)
                    vj = T.axis.spatial(512, jo * 32 + ji)
                    C[vi, vj] = T.float32(1)
)",
                                                                               loops)));
    const LevelTraffic l1 = TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1).levels[0];
    return l1.scattered_lines / (l1.written_bytes / kZen4.Nearest().line_bytes);
  };
  EXPECT_EQ(scattered_part("jo, io in T.grid(16, 64)"), 1);      // two lines of each of 512 rows
  EXPECT_LT(scattered_part("io, jo in T.grid(64, 16)"), 0.001);  // the eight rows of a tile are continued by the next
}

// A temporary that one iteration of the outer loop writes and reads is that iteration's: its next one finds it in L2.
TEST(MemoryTraffic, TemporariesOfAnIterationStayInTheCaches) {
  const auto from_l3 = [](const char* read) {
    const ProgramFacts facts = GatherFacts(ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), C: T.Buffer((4096,), "float32")):
    P = T.alloc_buffer((4096, 32768))
    for i in range(4096):
        for j in range(32768):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = A[vi]
        $0
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + P[vi, vj]
)",
                                                                               read)));
    return TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1).levels[1].read_bytes;
  };
  EXPECT_LT(from_l3("for j in range(32768):"), 1e6);  // P is 128 KiB of 512 MiB
  EXPECT_GT(from_l3("pass\n    for i in range(4096):\n        for j in range(32768):"), 5e8);
}

}  // namespace
}  // namespace tilewright
