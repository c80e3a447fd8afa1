// The values by which products of warps are scheduled, and how near to the speed of light they are projected to be.
#include "autoschedule/sketch/gpu/mma_tiling.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "autoschedule/cost/gpu/product_time.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/mma_tile_rule.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kS8 = DataType::Int(8),
                   kS32 = DataType::Int(32);

// The preferred tiling of a product on a target.
struct Problem {
  Problem(const Function& function, const char* target_name) : target(*NamedTarget(target_name)) {
    Schedule sch{Module(function)};
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const BlockRv block = *sch.GetBlock("C");
    const BlockRealizeNode& realize = RealizeOf(sch, block);
    const ProductPlan plan = *PlanProduct(realize, target);
    const auto found = FindMmaTile(*realize.block, plan.contraction, target, &intrins);
    if (!found) return;
    instruction = found->instruction;
    Choices choices = Choices::Preferred();
    const Outcome<WarpgroupProduct> product = PrepareOperands(sch, block, plan, *found, target, choices);
    const Outcome<MmaTiling> chosen = ChooseMmaTiling(sch, *product, target, choices);
    EXPECT_TRUE(chosen.ok());
    tiling = *chosen;
  }

  Target target;
  const MachineInstruction* instruction = nullptr;
  MmaTiling tiling;
};

const char* const kTargets[] = {"cuda-sm80", "cuda-sm86", "cuda-sm89", "cuda-sm120"};

// The part of the speed of light that the preferred tiling of a cube is projected to reach.
double PartOfLight(int64_t side, const char* target_name) {
  const Problem problem(ops::Matmul(side, side, side, {kF16, kF16, kF32}), target_name);
  const MmaTiling& tiling = problem.tiling;
  const double projected = ProductSeconds({.m = side, .n = side, .k = side, .factor = kF16},
                                          {.m = tiling.tile.m,
                                           .n = tiling.tile.n,
                                           .k = tiling.tile.k,
                                           .parts = tiling.parts,
                                           .warps_m = tiling.warps_m,
                                           .warps_n = tiling.warps_n},
                                          problem.target);
  const auto of_side = static_cast<double>(side);
  const double light =
      of_side * of_side * of_side /
      (MultiplyAddsPerCycle(problem.target, kF16) * problem.target.cores * problem.target.clock_ghz * 1e9);
  return light / projected;
}

// Small ones end in waves that are not full.
TEST(MmaTiling, LargeProductsAreProjectedNearTheSpeedOfLight) {
  for (const char* target : kTargets) {
    EXPECT_GE(PartOfLight(2048, target), 0.84) << target;
    EXPECT_GE(PartOfLight(3072, target), 0.87) << target;
    EXPECT_GE(PartOfLight(4096, target), 0.92) << target;
    EXPECT_GE(PartOfLight(8192, target), 0.97) << target;
  }
}

// Other tiles of B[k, n] are copied to places whose extents lowering does not know.
TEST(MmaTiling, PreferredColumnsArePowersOfTwo) {
  for (const char* target : kTargets) {
    for (const int64_t side : {2048, 3072, 4096, 8192}) {
      const MmaTiling tiling = Problem(ops::Matmul(side, side, side, {kF16, kF16, kF32}), target).tiling;
      EXPECT_TRUE(std::has_single_bit(static_cast<uint64_t>(tiling.tile.n))) << target << ToString(tiling);
    }
  }
}

TEST(MmaTiling, RegistersHoldWhatIsChosen) {
  for (const char* target : kTargets) {
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{16, 16, 64}, {128, 4096, 64}, {1000, 24, 333}}) {
      const Problem problem(ops::Matmul(m, n, k, {kF16, kF16, kF32}), target);
      EXPECT_LE(
          RegistersOfLane(problem.tiling, *problem.instruction, *NamedTarget(target)) * 32 * problem.tiling.Warps(),
          65536);
    }
  }
}

TEST(MmaTiling, TheDepthIsTheInstructions) {
  EXPECT_EQ(Problem(ops::Matmul(64, 64, 256, {kF16, kF16, kF32}), "cuda-sm80").instruction->k, 16);
  EXPECT_EQ(Problem(ops::Matmul(64, 64, 256, {kS8, kS8, kS32}), "cuda-sm80").instruction->k, 32);
  // Floats of 32 bits are not rounded to tf32.
  EXPECT_EQ(Problem(ops::Matmul(64, 64, 256, {kF32, kF32, kF32}), "cuda-sm80").instruction, nullptr);
}

}  // namespace
}  // namespace tilewright
