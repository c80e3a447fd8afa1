// What schedules of chains ask of registers and sizes.
#include "autoschedule/sketch/cpu/chained/cpu_steps.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

class Steps : public CpuChainedSteps {
 public:
  Steps(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices)
      : CpuChainedSteps(sch, plan, target, choices) {}
  using CpuChainedSteps::KeepSums;
  using CpuChainedSteps::lanes_;
  using CpuChainedSteps::MostBroadcast;
  using CpuChainedSteps::TileOf;
};

struct Chain {
  explicit Chain(const char* name) : target(*NamedTarget(name)) { plan.product = *sch.GetBlock("P"); }
  Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(testing::ChainedVariant{})))};
  Target target;
  ChainedPlan plan;
};

// Registers hold `broadcast` times `vectors` sums, the vectors that are loaded, and one that is broadcast.
TEST(CpuChainedSteps, BroadcastElementsLeaveRegistersForVectors) {
  for (const auto& [name, registers, lanes] : {std::tuple("x86-znver4", 32, 16), {"x86-haswell", 16, 8}}) {
    Chain chain(name);
    Choices choices = Choices::Preferred();
    const Steps steps(chain.sch, chain.plan, chain.target, choices);
    EXPECT_EQ(steps.lanes_, lanes);
    for (const int64_t vectors : {1, 2, 3, 4, 6}) {
      const int64_t most = steps.MostBroadcast(vectors);
      EXPECT_LE(most * vectors + vectors + 1, registers) << vectors;
      EXPECT_GT((most + 1) * vectors + vectors + 1, registers) << vectors;
    }
    EXPECT_EQ(steps.MostBroadcast(registers), 1);
  }
}

// The tile that is preferred, and those that may be chosen.
TEST(CpuChainedSteps, TilesDivideWhereTheyAreLargeEnough) {
  const auto preferred = [](int64_t extent, int64_t most) {
    Chain chain("x86-znver4");
    Choices choices = Choices::Preferred();
    return *Steps(chain.sch, chain.plan, chain.target, choices).TileOf(".tile", extent, most);
  };
  EXPECT_EQ(preferred(5, 14), 5);    // all of them
  EXPECT_EQ(preferred(128, 14), 8);  // a divisor, and more than half of the most
  EXPECT_EQ(preferred(60, 14), 12);
  EXPECT_EQ(preferred(26, 14), 13);
  EXPECT_EQ(preferred(37, 14), 14);  // divided by nothing: the last tile is not whole
  EXPECT_EQ(preferred(25, 14), 14);  // 5 is less than half
  for (const int64_t given : {1, 2, 4, 6, 8}) {
    Chain chain("x86-znver4");
    Choices choices = Choices::GivenOrPreferred({{"P.tile", given, {given}}});
    EXPECT_EQ(*Steps(chain.sch, chain.plan, chain.target, choices).TileOf(".tile", 9, 9), given);
  }
  // No tile is larger than the extent or the most.
  Chain chain("x86-znver4");
  Choices choices = Choices::GivenOrPreferred({{"P.tile", 12, {12}}});
  EXPECT_EQ(*Steps(chain.sch, chain.plan, chain.target, choices).TileOf(".tile", 11, 14), 11);
}

TEST(CpuChainedSteps, SumsAreKeptInRegisters) {
  Chain chain("x86-znver4");
  Choices choices = Choices::Preferred();
  const Outcome<BlockRv> copy = Steps(chain.sch, chain.plan, chain.target, choices).KeepSums(chain.plan.product);
  ASSERT_TRUE(copy.ok());
  const BlockNode& sum = *RealizeOf(chain.sch, chain.plan.product).block;
  const BlockNode& copied = *RealizeOf(chain.sch, *copy).block;
  EXPECT_EQ(sum.writes[0].buffer->scope.text(), "register");
  EXPECT_TRUE(copied.reads[0].buffer.same_as(sum.writes[0].buffer));
  EXPECT_EQ(copied.writes[0].buffer->name, "P");
}

}  // namespace
}  // namespace tilewright
