// Which intrinsics multiply tiles by warps, and what is scheduled with them.
#include "autoschedule/sketch/gpu/warp_tile_rule.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/functor.h"
#include "ir/ops/matmul.h"
#include "ir/script/printer.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr DataType kF16 = DataType::Float(16), kF32 = DataType::Float(32), kBf16 = DataType::BFloat16(),
                   kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS32 = DataType::Int(32);

struct Product {
  Product(const Function& function, const char* target_name)
      : target(*NamedTarget(target_name)), sch(Module(function), {.intrins = &intrins}), block(*sch.GetBlock("C")) {
    plan = PlanProduct(RealizeOf(sch, block), target);
  }
  std::optional<WarpTile> Find(IntrinRegistry* registry) {
    return FindWarpTile(*RealizeOf(sch, block).block, plan->contraction, target, registry);
  }
  Outcome<std::monostate> Apply(Choices& choices) {
    return ScheduleWarpTiles(sch, block, *plan, *Find(&intrins), target, choices);
  }

  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Target target;
  Schedule sch;
  BlockRv block;
  std::optional<ProductPlan> plan;
};

std::optional<WarpTile> TileOf(const ops::OperandTypes& types, const char* target, bool transposed = false) {
  Product product(ops::Matmul(64, 64, 64, types, transposed), target);
  return product.Find(&product.intrins);
}

TEST(FindWarpTile, NamesTheIntrinsicsOfTheTypes) {
  const auto tile = TileOf({kF16, kF16, kF32}, "cuda-sm75");
  ASSERT_TRUE(tile.has_value());
  EXPECT_EQ(tile->side, 16);
  EXPECT_EQ(tile->load_rows, "wmma_load_16x16x16_f16_a_shared_dyn");
  EXPECT_EQ(tile->load_columns, "wmma_load_16x16x16_f16_b_shared_dyn");
  EXPECT_EQ(tile->fill, "wmma_fill_16x16x16_f32");
  EXPECT_EQ(tile->product, "wmma_sync_16x16x16_f16f16f32");
  EXPECT_EQ(tile->store, "wmma_store_16x16x16_f32_shared_dyn");
  EXPECT_FALSE(tile->by_depth);
  // Columns that lie along the depth stay so.
  const auto transposed = TileOf({kF16, kF16, kF32}, "cuda-sm75", true);
  ASSERT_TRUE(transposed.has_value());
  EXPECT_TRUE(transposed->by_depth);
  EXPECT_EQ(transposed->load_columns, "wmma_load_16x16x16_f16_b_trans_shared_dyn");
  EXPECT_EQ(transposed->product, "wmma_sync_16x16x16_f16f16f32_trans");
  // Bytes are not transposed on their way into fragments: copies bring them along the depth.
  const auto bytes = TileOf({kS8, kS8, kS32}, "cuda-sm75");
  ASSERT_TRUE(bytes.has_value());
  EXPECT_TRUE(bytes->by_depth);
}

TEST(FindWarpTile, FindsNothingThatTheTargetLacks) {
  EXPECT_FALSE(TileOf({kBf16, kBf16, kF32}, "cuda-sm75"));
  EXPECT_TRUE(TileOf({kBf16, kBf16, kF32}, "cuda-sm80"));
  EXPECT_FALSE(TileOf({kF32, kF32, kF32}, "cuda-sm80"));
  EXPECT_FALSE(TileOf({kU8, kS8, kS32}, "cuda-sm80")) << "the operands have different types";
  Product product(ops::Matmul(64, 64, 64, {kF16, kF16, kF32}), "cuda-sm80");
  EXPECT_FALSE(product.Find(nullptr));
  IntrinRegistry none;
  EXPECT_FALSE(product.Find(&none));
}

// The extents of loops over threads and the calls of the preferred schedule.
TEST(ScheduleWarpTiles, WarpsShareATile) {
  for (const char* name : {"cuda-sm75", "cuda-sm80"}) {
    Product product(ops::Matmul(256, 192, 96, {kF16, kF16, kF32}), name);
    Choices choices = Choices::GivenOrPreferred({{"C.tile_m", 64, {64}},
                                                 {"C.tile_n", 32, {32}},
                                                 {"C.tile_k", 32, {32}},
                                                 {"C.warps_m", 2, {2}},
                                                 {"C.warps_n", 1, {1}}});
    const auto done = product.Apply(choices);
    ASSERT_TRUE(done.ok()) << testing::ReasonOf(done, product.sch.refused_function());
    const Module& module = product.sch.module();
    int64_t x = 0, y = 0, warps_z = 0, warps_y = 0;
    PreOrder(module.Main()->body, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop == nullptr) return true;
      const int64_t extent = AsInt(loop->extent).value_or(0);
      if (loop->thread_tag == "blockIdx.x") x = extent;
      if (loop->thread_tag == "blockIdx.y") y = extent;
      if (loop->thread_tag == "threadIdx.z") warps_z = extent;
      if (loop->thread_tag == "threadIdx.y") warps_y = extent;
      return true;
    });
    EXPECT_EQ(x * y, (256 / 64) * (192 / 32)) << Print(module);
    EXPECT_EQ(warps_z, 2);
    EXPECT_EQ(warps_y, 1);
    EXPECT_NE(VerifyProgram(module.Main(), &product.target).verdict(), Verdict::kRefuted) << Print(module);
    // Stages hide the latency of copies where the target copies asynchronously.
    const bool staged = Print(module).find("software_pipeline_stage") != std::string::npos;
    EXPECT_EQ(staged, product.target.has("cp.async"));
  }
}

TEST(ScheduleWarpTiles, TilesThatSharedMemoryDoesNotHoldAreRefused) {
  Product product(ops::Matmul(256, 256, 256, {kF16, kF16, kF32}), "cuda-sm75");
  Choices choices =
      Choices::GivenOrPreferred({{"C.tile_m", 128, {128}}, {"C.tile_n", 128, {128}}, {"C.tile_k", 64, {64}}});
  EXPECT_EQ(testing::ReasonOf(product.Apply(choices), product.sch.module().Main()),
            "the tiles of C do not fit in shared memory");
}

}  // namespace
}  // namespace tilewright
