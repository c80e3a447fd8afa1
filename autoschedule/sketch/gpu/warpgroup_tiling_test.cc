// The values by which products of warpgroups are scheduled: how operands are copied, and how the product is divided.
#include "autoschedule/sketch/gpu/warpgroup_tiling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/operand_way.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "autoschedule/sketch/gpu/warpgroup_tile_rule.h"
#include "ir/ops/conv.h"
#include "ir/ops/converted_output.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kS8 = DataType::Int(8),
                   kS32 = DataType::Int(32);

// A product of the main function, as the rule sees it.
struct Problem {
  Problem(const Function& function, const std::string& name, const char* target_name = "cuda-sm90a")
      : target(*NamedTarget(target_name)), sch(Module(function)), block(*sch.GetBlock(name)) {
    const BlockRealizeNode& realize = RealizeOf(sch, block);
    plan = *PlanProduct(realize, target);
    tile = *FindWarpgroupTile(*realize.block, plan.contraction, target);
  }

  // The way of the block as it is, or why there is none.
  std::string Found() {
    const int64_t widest = target.gpu_part().max_access_bytes;
    const Outcome<OperandWay> way = FindWay(sch, block, {plan, tile, {}, {}, widest, widest, widest});
    return way.ok() ? ToString(*way) : way.refusal().reason;
  }
  // The way that was made where there was none.
  std::string Prepared(const std::string& copies = "") {
    Choices choices =
        copies.empty() ? Choices::Preferred() : Choices::GivenOrPreferred({Choice::Of(plan.name + ".copies", copies)});
    const Outcome<WarpgroupProduct> product = PrepareOperands(sch, block, plan, tile, target, choices);
    return product.ok() ? ToString(product->way) : product.refusal().reason;
  }
  WarpgroupTiling Tiling() {
    Choices choices = Choices::Preferred();
    const Outcome<WarpgroupProduct> product = PrepareOperands(sch, block, plan, tile, target, choices);
    EXPECT_TRUE(product.ok());
    const Outcome<WarpgroupTiling> tiling = ChooseTiling(sch, *product, target, choices);
    EXPECT_TRUE(tiling.ok());
    return *tiling;
  }

  Target target;
  Schedule sch;
  BlockRv block;
  ProductPlan plan;
  WarpgroupTile tile;
};

Function Convolution(int64_t channels) {
  return ops::Conv({.batch = 1,
                    .spatial = {14, 14},
                    .in_channels = channels,
                    .out_channels = 64,
                    .windows = ops::Same({.kernel = 3, .padding = 1}, 2)},
                   {kF16, kF16, kF32});
}

constexpr char kSingleElements[] = "operands of {block0} can be copied by single elements alone";

TEST(OperandWay, OfMatrices) {
  EXPECT_EQ(Problem(ops::Matmul(256, 256, 256, {kF16, kF16, kF32}), "C").Found(), "bulk, [k, n], depth 64");
  EXPECT_EQ(Problem(ops::Matmul(256, 256, 256, {kF16, kF16, kF32}, /*transposed=*/true), "C").Found(),
            "bulk, [n, k], depth 64");
  EXPECT_EQ(Problem(ops::Matmul(256, 256, 256, {kS8, kS8, kS32}, /*transposed=*/true), "C").Found(),
            "bulk, [n, k], depth 128");
  // Rows that do not begin at multiples of 16 bytes.
  EXPECT_EQ(Problem(ops::Matmul(256, 100, 100, {kF16, kF16, kF32}), "C").Found(), "threads, [k, n], depth 64");
}

// Bytes are not transposed on their way into the instruction.
TEST(OperandWay, OfSingleElements) {
  Problem bytes(ops::Matmul(256, 256, 256, {kS8, kS8, kS32}), "C");
  EXPECT_EQ(bytes.Found(), kSingleElements);
  EXPECT_EQ(bytes.Prepared(), "bulk, packed, [n, k], depth 128");
}

TEST(OperandWay, OfImages) {
  EXPECT_EQ(Problem(Convolution(64), "conv2d_nhwc").Found(), "pixels, [k, n], depth 64");
  EXPECT_EQ(Problem(Convolution(64), "conv2d_nhwc").Prepared("bulk"), "pixels, [k, n], depth 64");
  EXPECT_EQ(Problem(Convolution(64), "conv2d_nhwc").Prepared("threads"), "threads, [k, n], depth 64");
  EXPECT_EQ(Problem(Convolution(16), "conv2d_nhwc").Prepared(), "threads, [k, n], depth 64");
  EXPECT_EQ(Problem(Convolution(3), "conv2d_nhwc").Found(), kSingleElements);
  EXPECT_EQ(Problem(Convolution(3), "conv2d_nhwc").Prepared(), "threads, [k, n], depth 64");
}

// 16 bits go through shared memory where threads or the engine can store vectors of them.
TEST(ResultWay, OfProducts) {
  const auto way = [](const Function& function, int64_t columns, const std::string& store = "") {
    Problem problem(function, "C");
    Choices choices = store.empty() ? Choices::Preferred() : Choices::GivenOrPreferred({Choice::Of("C.store", store)});
    const Outcome<WarpgroupProduct> product =
        PrepareOperands(problem.sch, problem.block, problem.plan, problem.tile, problem.target, choices);
    EXPECT_TRUE(product.ok());
    return *ChooseStores(problem.sch, "C", product->result, {.rows = 64, .columns = columns}, problem.target, choices);
  };
  const ops::OperandTypes types = {kF16, kF16, kF32};
  const Function half = ops::WithConvertedOutput(ops::Matmul(256, 256, 256, types), kF16);
  EXPECT_EQ(way(half, 64), ResultStores::kBulk);
  EXPECT_EQ(way(half, 64, "vectors"), ResultStores::kVectors);
  EXPECT_EQ(way(half, 64, "lanes"), ResultStores::kLanes);
  EXPECT_EQ(way(ops::Matmul(256, 256, 256, types), 64), ResultStores::kLanes);
  EXPECT_EQ(way(ops::Matmul(256, 256, 256, types), 64, "bulk"), ResultStores::kBulk);
  // Rows do not begin at multiples of 16 bytes.
  EXPECT_EQ(way(ops::WithConvertedOutput(ops::Matmul(256, 100, 256, types), kF16), 64, "bulk"), ResultStores::kLanes);
}

TEST(WarpgroupTiling, IsPrinted) {
  WarpgroupTiling tiling{.tile = {128, 256, 64}, .warpgroups = 2, .stages = 4, .group = 16};
  tiling.cluster.m = 2;
  EXPECT_EQ(ToString(tiling), "128x256x64 tiles, 2 warpgroups, 1 parts, cluster 2x1, 4 stages, groups of 16, 1 turns");
}

TEST(WarpgroupTiling, IsPreferredByTheEstimate) {
  const auto tiling_of = [](int64_t m, int64_t n, int64_t k) {
    return Problem(ops::Matmul(m, n, k, {kF16, kF16, kF32}), "C").Tiling();
  };
  const WarpgroupTiling large = tiling_of(4096, 4096, 4096), deep = tiling_of(64, 512, 8192);
  EXPECT_EQ(large.warpgroups * 64, large.tile.m) << ToString(large);
  EXPECT_EQ(large.parts, 1) << ToString(large);
  // Blocks stay: those of a cluster go on together.
  EXPECT_EQ(large.cluster.Blocks(), 2) << ToString(large);
  EXPECT_EQ(large.turns, 4) << ToString(large);
  EXPECT_GE(large.tile.m * large.tile.n, 128 * 128) << ToString(large);
  EXPECT_EQ(tiling_of(1024, 1024, 1024).turns, 1);
  // Few tiles leave cores idle.
  EXPECT_EQ(deep.turns, 1) << ToString(deep);
  EXPECT_GT(deep.parts, 1) << ToString(deep);
}

}  // namespace
}  // namespace tilewright
