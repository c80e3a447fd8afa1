#include "autoschedule/sketch/cpu/row_rule.h"

#include <gtest/gtest.h>

#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/rule_testing.h"
#include "ir/builder.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using testing::FirstChain;
using testing::RowSums;

const DataType kF32 = DataType::Float(32);

// Rows less their maxima, and the sums of that.
Function LessTheirMaxima(int64_t rows, int64_t length) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {rows, length}, kF32);
  const ReduceAxis k("k", length), l("l", length);
  const Buffer m = f.Compute("M", {rows}, [&](Var i) { return MaxOver(a(i, k), k); });
  const Buffer d = f.Compute("D", {rows, length}, [&](Var i, Var j) { return a(i, j) - m(i); });
  const Buffer s = f.Compute("S", {rows}, [&](Var i) { return Sum(d(i, l), l); });
  return f.Build({d, s});
}

// The sums of each channel over images and their planes: rows continue each other.
Function ChannelSums(int64_t images, int64_t channels, int64_t side) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {images, channels, side, side}, kF32);
  const ReduceAxis n("n", images), h("h", side), w("w", side);
  const Buffer s = f.Compute("S", {channels}, [&](Var c) { return Sum(a(n, c, h, w), {n, h, w}); });
  return f.Build({s});
}

TEST(RowRule, EveryChoiceComputesTheSame) {
  const std::vector<Function> programs = {RowSums(3, 129), RowSums(5, 4), LessTheirMaxima(4, 67), ChannelSums(2, 8, 9)};
  for (const char* name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    for (const Function& program : programs) {
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        Schedule sch{Module(program)};
        const std::vector<BlockRv> chain = FirstChain(sch);
        ASSERT_FALSE(chain.empty());
        Choices choices = Choices::Drawn(seed);
        const Outcome<std::monostate> done = ScheduleRows(sch, chain, target, choices);
        ASSERT_TRUE(done.ok()) << done.refusal().reason << '\n' << Print(sch.module());
        testing::ExpectEquivalent(program, sch.module().Main(), {.seed = seed});
      }
    }
  }
}

// A chain is one loop over its rows.
TEST(RowRule, StagesShareTheLoopOverRows) {
  const Function program = LessTheirMaxima(4, 64);
  Schedule sch{Module(program)};
  const std::vector<BlockRv> chain = FirstChain(sch);
  ASSERT_EQ(chain.size(), 3U);
  Choices choices = Choices::Preferred();
  ASSERT_TRUE(ScheduleRows(sch, chain, *NamedTarget("x86-znver4"), choices).ok());
  const Stmt body = cast<BlockRealizeNode>(sch.module().Main()->body)->block->body;
  EXPECT_TRUE(isa<ForNode>(body)) << Print(sch.module());
}

TEST(RowRule, AFewTermsFillNoVector) {
  for (const auto& [length, shorter] : {std::pair{3, true}, std::pair{4, false}, std::pair{64, false}}) {
    Schedule sch{Module(RowSums(8, length))};
    EXPECT_EQ(IsShorterThanLanes(*RealizeOf(sch, BlocksInRoot(sch, "main")[0]).block), shorter) << length;
  }
}

TEST(RowRule, AReductionToOneResultIsDividedAmongCores) {
  Target target = *NamedTarget("x86-znver4");
  target.cores = 4;
  const Function program = RowSums(1, 1 << 20);
  Schedule sch{Module(program)};
  const std::optional<BlockRv> parts = SplitAmongCores(sch, BlocksInRoot(sch, "main")[0], target);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(ExtentOf(RealizeOf(sch, *parts).block->iter_vars[0]), 4) << Print(sch.module());
  // Little work is not worth threads, and many results are divided as they are.
  for (const Function& other : {RowSums(1, 64), RowSums(64, 1 << 14)}) {
    Schedule whole{Module(other)};
    EXPECT_FALSE(SplitAmongCores(whole, BlocksInRoot(whole, "main")[0], target).has_value());
  }
}

}  // namespace
}  // namespace tilewright
