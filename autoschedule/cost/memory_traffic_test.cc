#include "autoschedule/cost/memory_traffic.h"

#include <gtest/gtest.h>

#include "autoschedule/cost/instruction_mix.h"
#include "autoschedule/cost/tiled_matmul.h"

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
  const Function aligned = TiledMatmul(8, 2, "serial", 1024);
  const Function f = TiledMatmul(8, 2, "serial", 1056);  // rows of 4224 bytes
  const auto l2_bytes = [](const Function& function) {
    const ProgramFacts facts = GatherFacts(function);
    return TrafficOf(facts, kZen4, CoreIterations(facts, 1), 1).levels[0].read_bytes / facts.Iterations(0) /
           facts.buffers[0].bytes;
  };
  EXPECT_GT(l2_bytes(aligned), 3 * l2_bytes(f));
}

}  // namespace
}  // namespace tilewright
