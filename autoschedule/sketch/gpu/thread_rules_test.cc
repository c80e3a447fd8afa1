// The rules whose threads compute by themselves, without instructions of a warp: each choice computes what the program
// does, and the rules divide what they say.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/bind_nest.h"
#include "autoschedule/sketch/gpu/column_threads_rule.h"
#include "autoschedule/sketch/gpu/depth_parts.h"
#include "autoschedule/sketch/gpu/divide_reduction.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "autoschedule/sketch/gpu/product_tiles.h"
#include "autoschedule/sketch/gpu/row_threads_rule.h"
#include "autoschedule/sketch/gpu/thread_tile_rule.h"
#include "autoschedule/sketch/rule_testing.h"
#include "ir/builder.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using testing::FirstChain;
using testing::RowSums;
using testing::Scaled;

using Done = std::monostate;
using Rule = std::function<Outcome<Done>(Schedule&, BlockRv, const Target&, Choices&)>;

const DataType kF32 = DataType::Float(32);

Function ColumnSums(int64_t length, int64_t columns) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {length, columns}, kF32);
  const ReduceAxis k("k", length);
  const Buffer s = f.Compute("S", {columns}, [&](Var j) { return Sum(a(k, j), k); });
  return f.Build({s});
}

Function Products(int64_t m, int64_t n, int64_t k) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {m, k}, kF32), b = f.Input("B", {k, n}, kF32);
  const ReduceAxis l("l", k);
  const Buffer c = f.Compute("C", {m, n}, [&](Var i, Var j) { return Sum(a(i, l) * b(l, j), l); });
  return f.Build({c});
}

void ExpectEveryChoiceToComputeTheSame(const std::vector<Function>& programs, const Rule& rule) {
  for (const char* name : {"cuda-sm80", "cuda-h200"}) {
    const Target target = *NamedTarget(name);
    for (const Function& program : programs) {
      for (uint64_t seed = 0; seed < 5; ++seed) {
        Schedule sch{Module(program)};
        Choices choices = seed == 0 ? Choices::Preferred() : Choices::Drawn(seed);
        const Outcome<Done> done = rule(sch, BlocksInRoot(sch, "main")[0], target, choices);
        // A drawn choice may be refused: more threads than a row has elements.
        if (!done.ok() && seed > 0) continue;
        ASSERT_TRUE(done.ok()) << done.refusal().reason << '\n' << Print(sch.module());
        testing::ExpectEquivalent(program, sch.module().Main(), {.seed = seed + 1});
      }
    }
  }
}

TEST(PlainGpuRule, EveryChoiceComputesTheSame) {
  ExpectEveryChoiceToComputeTheSame({Scaled(7, 33), Scaled(64, 64), ColumnSums(9, 40)}, SchedulePlainOnGpu);
}

TEST(ColumnThreadsRule, EveryChoiceComputesTheSame) {
  ExpectEveryChoiceToComputeTheSame({ColumnSums(65, 5), ColumnSums(128, 32), RowSums(3, 40)}, ScheduleColumnThreads);
}

TEST(RowThreadsRule, EveryChoiceComputesTheSame) {
  ExpectEveryChoiceToComputeTheSame({RowSums(3, 96), RowSums(5, 67)},
                                    [](Schedule& sch, BlockRv, const Target& target, Choices& choices) {
                                      return ScheduleRowThreads(sch, FirstChain(sch), target, choices);
                                    });
}

TEST(RowThreadsRule, ARowsLengthIsThatOfItsReduction) {
  const auto length = [](const Function& function) {
    Schedule sch{Module(function)};
    return RowLength(*RealizeOf(sch, BlocksInRoot(sch, "main")[0]).block);
  };
  EXPECT_EQ(length(RowSums(3, 96)), 96);
  EXPECT_FALSE(length(ColumnSums(96, 3)).has_value());
  EXPECT_FALSE(length(Scaled(3, 96)).has_value());
}

TEST(ThreadTileRule, EveryChoiceComputesTheSame) {
  ExpectEveryChoiceToComputeTheSame(
      {Products(32, 32, 16), Products(19, 37, 11)},
      [](Schedule& sch, BlockRv block, const Target& target, Choices& choices) -> Outcome<Done> {
        const std::optional<ProductPlan> plan = PlanProduct(RealizeOf(sch, block), target);
        if (!plan) return Refusal{"test", "the block is not a product"};
        return ScheduleThreadTiles(sch, block, *plan, target, choices);
      });
}

TEST(ProductTiles, UsefulPartsAreWithoutPadding) {
  EXPECT_EQ(UsefulPart({.m = 64, .n = 64, .k = 64}, 64), 1);
  EXPECT_EQ(UsefulPart({.m = 32, .n = 64, .k = 64}, 64), 0.5);
  EXPECT_EQ(UsefulPart({.m = 1, .n = 64, .k = 8}, 8), 0.125);
}

// Parts have equal numbers of steps.
TEST(DepthParts, DivideStepsEqually) {
  EXPECT_EQ(PartsOf(1), std::vector<int64_t>({1}));
  EXPECT_EQ(PartsOf(12), std::vector<int64_t>({1, 2, 3, 4, 6}));
  const std::vector<int64_t> many = PartsOf(64);
  EXPECT_LE(std::ssize(many), kMostCandidates);
  for (const int64_t parts : many) EXPECT_EQ(64 % parts, 0);
}

TEST(DivideReduction, LongReductionsToFewResultsAreTwoBlocks) {
  const Target target = *NamedTarget("cuda-h200");
  const int64_t length = GpuCostsOf(target).divided_terms * 8;
  Schedule sch{Module(RowSums(1, length))};
  const std::optional<BlockRv> parts = DivideReduction(sch, BlocksInRoot(sch, "main")[0], target);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(BlocksInRoot(sch, "main").size(), 2U) << Print(sch.module());
  Schedule whole{Module(RowSums(1, 64))};
  EXPECT_FALSE(DivideReduction(whole, BlocksInRoot(whole, "main")[0], target).has_value());
}

// Loops that a person arranged become blocks and threads as they stand.
TEST(BindNest, TakesLoopsAsTheyAre) {
  const Function program = Scaled(6, 64);
  Schedule sch{Module(program)};
  const BlockRv block = BlocksInRoot(sch, "main")[0];
  ASSERT_TRUE(sch.Split((*sch.GetLoops(block))[1], {Value(), Value(int64_t{32})}).ok());
  const Outcome<Done> done = BindNest(sch, block, *NamedTarget("cuda-sm80"));
  ASSERT_TRUE(done.ok()) << done.refusal().reason;
  EXPECT_NE(Print(sch.module()).find("threadIdx.x"), std::string::npos) << Print(sch.module());
  testing::ExpectEquivalent(program, sch.module().Main());
  EXPECT_TRUE(HasGlobalMemoryAlone(*RealizeOf(sch, block).block));
}

}  // namespace
}  // namespace tilewright
