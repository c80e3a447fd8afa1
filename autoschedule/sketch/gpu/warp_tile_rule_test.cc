// The instructions by which warps multiply tiles, and where there are none.
#include "autoschedule/sketch/gpu/warp_tile_rule.h"

#include <gtest/gtest.h>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kS8 = DataType::Int(8),
                   kS32 = DataType::Int(32);

// The tile that the rule finds for a product of 64 x 64 x 64.
std::optional<WarpTile> TileFor(const ops::OperandTypes& types, const char* target_name,
                                IntrinRegistry* intrins = nullptr) {
  Schedule sch{Module(ops::Matmul(64, 64, 64, types))};
  const BlockRealizeNode& realize = RealizeOf(sch, *sch.GetBlock("C"));
  const Target target = *NamedTarget(target_name);
  const std::optional<ProductPlan> plan = PlanProduct(realize, target);
  if (!plan) return std::nullopt;
  IntrinRegistry builtin = IntrinRegistry::Builtin();
  return FindWarpTile(*realize.block, plan->contraction, target, intrins != nullptr ? intrins : &builtin);
}

TEST(WarpTileRule, TakesHalvesWithSumsOfFloats) {
  for (const char* target : {"cuda-sm80", "cuda-sm89", "cuda-sm90a"}) {
    const std::optional<WarpTile> tile = TileFor({kF16, kF16, kF32}, target);
    ASSERT_TRUE(tile) << target;
    EXPECT_EQ(tile->side, 16);
    EXPECT_FALSE(tile->by_depth);
    EXPECT_EQ(tile->product, "wmma_sync_16x16x16_f16f16f32");
  }
}

// Bytes are not transposed on their way into fragments.
TEST(WarpTileRule, TakesBytesAlongDepth) {
  const std::optional<WarpTile> tile = TileFor({kS8, kS8, kS32}, "cuda-sm80");
  ASSERT_TRUE(tile);
  EXPECT_TRUE(tile->by_depth);
  EXPECT_EQ(tile->product, "wmma_sync_16x16x16_s8s8s32_trans");
}

TEST(WarpTileRule, FindsNothingForTypesWithoutAnInstruction) { EXPECT_FALSE(TileFor({kF32, kF32, kF32}, "cuda-sm80")); }

TEST(WarpTileRule, FindsNothingWithoutIntrinsics) {
  IntrinRegistry none;
  EXPECT_FALSE(TileFor({kF16, kF16, kF32}, "cuda-sm80", &none));
}

}  // namespace
}  // namespace tilewright
