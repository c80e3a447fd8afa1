// Chains of a few rows that read the same keys: what each choice decides, and that all compute the same.
#include "autoschedule/sketch/cpu/chained/few_rows_rule.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/expect.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;

// A query of 8 heads, 4 of which share keys.
const ChainedVariant kVariant = {.rows = 1, .keys = 512, .depth = 64, .width = 64, .heads = 8, .key_heads = 2};

struct Scheduled {
  Scheduled(const ChainedVariant& variant, const Target& of, std::vector<Choice> given)
      : target(of), sch(Module(ParseFunctionOrDie(testing::TextOf(variant)))) {
    const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
    const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(sch.module().Main()->body)->block.get());
    const BlockRv product = *sch.GetBlock("P");
    const ScopeChild* child = scope.Find(sch.Get(product).As<BlockRef>()->id);
    const auto plan = PlanChain(sch, product, {target, nullptr, scope, *child, blocks},
                                {.least_rows = 16, .few_rows = true, .score_bytes = 1 << 19});
    EXPECT_TRUE(plan.has_value() && plan->has_few_rows());
    Choices choices = Choices::GivenOrPreferred(std::move(given));
    const auto done = ScheduleFewRows(sch, *plan, target, choices);
    EXPECT_TRUE(done.ok()) << testing::ReasonOf(done, sch.refused_function());
    for (const Choice& choice : choices.made().ToVector()) made[choice.name] = choice;
  }

  Target target;
  Schedule sch;
  std::map<std::string, Choice> made;
};

int64_t ParallelIterations(const Module& module) {
  int64_t iterations = 0;
  PreOrder(module.Main()->body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop != nullptr && loop->kind == ForKind::kParallel) iterations += AsInt(loop->extent).value_or(0);
    return true;
  });
  return iterations;
}

TEST(FewRowsRule, OffersTheChoicesOfItsHeader) {
  const Scheduled scheduled(kVariant, *NamedTarget("x86-znver4"), {});
  std::vector<std::string> names;
  for (const auto& [name, choice] : scheduled.made) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"P.key_block", "P.key_vectors", "P.tile_keys", "P.tile_vectors"}));
  // All keys at once, since their scores fit into the L2 cache; vectors of a tile so that sums of 4 rows are in
  // registers; 32 registers hold the sums of 6 keys for 4 rows.
  EXPECT_EQ(scheduled.made.at("P.key_block").candidates, (std::vector<int64_t>{256, 128, 64, 0}));
  EXPECT_EQ(scheduled.made.at("P.key_block").value, 0);
  EXPECT_EQ(scheduled.made.at("P.tile_vectors").value, 4);
  EXPECT_LE(scheduled.made.at("P.tile_keys").value * (4 + 1) + 2, 32);
  // The key heads are what cores share.
  EXPECT_EQ(ParallelIterations(scheduled.sch.module()), 2);
}

TEST(FewRowsRule, LongRowsOfScoresAreComputedByBlocksOfKeys) {
  ChainedVariant longer = kVariant;
  longer.keys = 1 << 17;
  const Scheduled scheduled(longer, *NamedTarget("x86-znver4"), {});
  EXPECT_EQ(scheduled.made.at("P.key_block").value, 256);
}

TEST(FewRowsRule, EveryChoiceComputesTheSame) {
  const Target target = testing::TestedTarget();
  for (const ChainedVariant& variant :
       {kVariant, ChainedVariant{.rows = 3, .keys = 192, .depth = 20, .width = 24, .heads = 2, .key_heads = 2}}) {
    const Function program = ParseFunctionOrDie(testing::TextOf(variant));
    for (const auto& [name, values] : std::map<std::string, std::vector<int64_t>>{{"P.key_block", {0, 64, 128}},
                                                                                  {"P.tile_keys", {1, 4}},
                                                                                  {"P.tile_vectors", {1, 2}},
                                                                                  {"P.key_vectors", {1, 8}}}) {
      for (const int64_t value : values) {
        const Scheduled scheduled(variant, target, {{name, value, {value}}});
        const Module& module = scheduled.sch.module();
        EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target, .original = program, .tolerance = 1e-4}),
                  "")
            << name << " = " << value << "\n"
            << Print(module);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
