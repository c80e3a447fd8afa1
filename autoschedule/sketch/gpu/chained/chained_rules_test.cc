// The rules of chains on GPUs by themselves: what they find in a program, what they choose, and what they refuse.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "autoschedule/sketch/chained/prepared_chain.h"
#include "autoschedule/sketch/gpu/chained/chained_fragments_rule.h"
#include "autoschedule/sketch/gpu/chained/chained_tiles_rule.h"
#include "autoschedule/sketch/gpu/chained/gpu_chained_steps.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;
using Done = std::monostate;

// A variant with the chain that begins with its product.
struct Chain {
  explicit Chain(const ChainedVariant& variant, const char* target_name = "cuda-sm80")
      : target(*NamedTarget(target_name)),
        program(ParseFunctionOrDie(TextOf(variant))),
        sch(Module(program), {.intrins = &intrins}) {
    const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
    const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(program->body)->block.get());
    const BlockRv product = *sch.GetBlock("P");
    const ScopeChild* child = scope.Find(sch.Get(product).As<BlockRef>()->id);
    const std::optional<PreparedChain> prepared =
        PrepareChain(sch, product, {target, &intrins, scope, *child, blocks}, {});
    EXPECT_TRUE(prepared.has_value());
    if (!prepared) return;
    prepared->prepare(sch);
    plan = prepared->plan;
  }

  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Target target;
  Function program;
  Schedule sch;
  ChainedPlan plan;
};

std::vector<int64_t> ValuesOf(const Choices& choices, const std::string& name) {
  for (const Choice& choice : choices.made()) {
    if (choice.name == name) return choice.candidates;
  }
  return {};
}

// Stops where tiles are chosen, with what was found until then.
class Looked : public GpuChainedSteps {
 public:
  Looked(Chain& chain, Choices& choices)
      : GpuChainedSteps(chain.sch, chain.plan, chain.target, choices, /*all_keys=*/false) {
    const Outcome<Done> done = ScheduleChain();
    EXPECT_FALSE(done.ok());
    if (!done.ok()) reason = done.refusal().reason;
  }
  bool Fits(int64_t rows, int64_t block) const { return FitsShared(rows, block, 4); }

  std::string reason;
  int64_t depth = 0, columns = 0;
  std::string queries, keys;
  std::pair<int, int> iterators;

 protected:
  Outcome<BlockRv> KeepSums(BlockRv product) override { return product; }
  Outcome<Done> ChooseTiles() override {
    depth = depth_;
    columns = columns_;
    queries = plan_.row_operand->name;
    keys = keys_->name;
    iterators = FirstIterators();
    return Refusal{"looked", "tiles are chosen"};
  }
  Outcome<Done> PlaceBuffers() override { return Done(); }
  Outcome<Done> BindBlocks() override { return Done(); }
  Outcome<Done> StageOperands() override { return Done(); }
};

TEST(GpuChainedSteps, FindsOperands) {
  Chain chain({.depth = 16, .width = 80});
  Choices choices = Choices::Preferred();
  const Looked looked(chain, choices);
  EXPECT_EQ(looked.reason, "tiles are chosen");
  EXPECT_EQ(looked.depth, 16);
  EXPECT_EQ(looked.columns, 80);
  EXPECT_EQ(looked.queries, "Q");
  EXPECT_EQ(looked.keys, "K");
  EXPECT_EQ(looked.iterators, std::pair(2, 3));
}

// 163 KiB of an A100: queries of 64 rows, keys and values of 256 elements, weights.
TEST(GpuChainedSteps, OperandsFitIntoSharedMemory) {
  Chain chain({.depth = 256, .width = 256});
  Choices choices = Choices::Preferred();
  const Looked looked(chain, choices);
  EXPECT_TRUE(looked.Fits(32, 16));
  EXPECT_TRUE(looked.Fits(32, 32));
  EXPECT_FALSE(looked.Fits(64, 64));
  EXPECT_FALSE(looked.Fits(256, 16));
}

TEST(ChainedFragmentsRule, InstructionsAreThoseOfTheTypes) {
  Chain half({.depth = 32, .width = 32, .type = "float16"}), brain({.depth = 32, .width = 32, .type = "bfloat16"}),
      single({.depth = 32, .width = 32});
  const auto types = [](Chain& chain) -> std::string {
    const MachineInstruction* row = FindChainedMma(chain.sch, chain.plan, chain.target, &chain.intrins);
    return row == nullptr ? "" : std::string(row->types);
  };
  EXPECT_EQ(types(half), "f16f16f32");
  EXPECT_EQ(types(brain), "bf16bf16f32");
  EXPECT_EQ(types(single), "");
  EXPECT_EQ(FindChainedMma(half.sch, half.plan, half.target, nullptr), nullptr);
  // A chain without a second product has threads alone.
  half.plan.seconds.clear();
  EXPECT_EQ(types(half), "");
}

Outcome<Done> ByFragments(Chain& chain, Choices& choices) {
  const MachineInstruction* row = FindChainedMma(chain.sch, chain.plan, chain.target, &chain.intrins);
  return ScheduleChainedFragments(chain.sch, chain.plan, *row, chain.target, choices);
}

TEST(ChainedFragmentsRule, BlocksDivideExtents) {
  struct Expected {
    int64_t rows, keys;
    std::vector<int64_t> warps, blocks;
  };
  for (const Expected& e : {Expected{128, 256, {4, 8, 2, 1}, {64, 32, 16}}, Expected{48, 96, {1}, {32, 16}}}) {
    SCOPED_TRACE(e.rows);
    Chain chain({.rows = e.rows, .keys = e.keys, .depth = 16, .width = 16, .type = "float16"});
    Choices choices = Choices::Preferred();
    const Outcome<Done> done = ByFragments(chain, choices);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.refusal().reason);
    EXPECT_EQ(ValuesOf(choices, "P.warps"), e.warps);
    EXPECT_EQ(ValuesOf(choices, "P.key_block"), e.blocks);
  }
}

TEST(ChainedFragmentsRule, ExtentsThatFragmentsDoNotDivideAreRefused) {
  const auto reason = [](const ChainedVariant& variant) {
    Chain chain(variant);
    Choices choices = Choices::Preferred();
    const Outcome<Done> done = ByFragments(chain, choices);
    return done.ok() ? std::string() : done.refusal().reason;
  };
  EXPECT_EQ(reason({.depth = 20, .width = 32, .type = "float16"}),
            "no fragments divide the depth or the columns of {block0}");
  EXPECT_EQ(reason({.depth = 32, .width = 20, .type = "float16"}),
            "no fragments divide the depth or the columns of {block0}");
  EXPECT_EQ(reason({.rows = 37, .depth = 32, .width = 32, .type = "float16"}),
            "no blocks divide the rows or the keys of {block0}");
  EXPECT_EQ(reason({.keys = 50, .depth = 32, .width = 32, .type = "float16"}),
            "no blocks divide the rows or the keys of {block0}");
}

// Sums of 64 rows, and scores of them, of more columns than a lane has registers for.
TEST(ChainedFragmentsRule, SumsThatDoNotFitAreRefused) {
  Chain chain({.depth = 512, .width = 512, .type = "float16"});
  Choices choices = Choices::Preferred();
  const Outcome<Done> done = ByFragments(chain, choices);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.refusal().reason, "{block0} does not fit into a block");
}

TEST(ChainedTilesRule, OperandsThatDoNotFitAreRefused) {
  Chain chain({.depth = 4096});
  Choices choices = Choices::Preferred();
  const Outcome<Done> done = ScheduleChainedTiles(chain.sch, chain.plan, chain.target, choices);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.refusal().reason, "rows of {block0} do not fit into shared memory");
}

// Few keys are one block; rows are as many as there are, rounded up.
TEST(ChainedTilesRule, BlocksFollowExtents) {
  Chain chain({.rows = 37, .keys = 50});
  Choices choices = Choices::Preferred();
  ASSERT_TRUE(ScheduleChainedTiles(chain.sch, chain.plan, chain.target, choices).ok());
  EXPECT_EQ(ValuesOf(choices, "P.row_block"), (std::vector<int64_t>{64, 32, 16, 8, 4, 2, 1}));
  EXPECT_EQ(ValuesOf(choices, "P.key_block"), (std::vector<int64_t>{50, 32, 16}));
}

// In the interpreter, which runs threads in their order.
TEST(ChainedTilesRule, EveryChoiceComputesTheSame) {
  for (const ChainedVariant& variant :
       {ChainedVariant{.rows = 12, .keys = 20, .depth = 4, .width = 4, .heads = 1, .key_heads = 1},
        ChainedVariant{.rows = 3, .keys = 140, .depth = 2, .width = 6, .heads = 1, .key_heads = 1}}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      Chain chain(variant);
      Choices choices = seed == 0 ? Choices::Preferred() : Choices::Drawn(seed);
      const Outcome<Done> done = ScheduleChainedTiles(chain.sch, chain.plan, chain.target, choices);
      ASSERT_TRUE(done.ok()) << done.refusal().reason;
      testing::ExpectEquivalent(chain.program, chain.sch.module().Main(), {.seed = seed + 1, .max_error = 1e-4});
    }
  }
}

}  // namespace
}  // namespace tilewright
