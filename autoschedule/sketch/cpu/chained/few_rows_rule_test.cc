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
#include "verify/verify.h"

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
    const auto plan = PlanChain(
        sch, product, {target, nullptr, scope, *child, blocks},
        {.least_rows = 16, .few_rows = true, .parts_keys = true, .score_bytes = 1 << 19, .key_bytes = 1 << 18});
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

// Queries that leave cores idle, of keys that no length of parts divides, too.
std::vector<ChainedVariant> FewTiles() {
  const std::string scaled = "P[vh, vi, vj] * T.float32(0.125)";
  const auto masked = [&](const std::string& condition) {
    return "T.if_then_else(" + condition + ", " + scaled + ", T.float32(\"-inf\"))";
  };
  const ChainedVariant query = {.rows = 1, .keys = 4096, .depth = 64, .width = 64, .heads = 2, .key_heads = 2};
  std::vector<ChainedVariant> all(8, query);
  all[1].log_sum = true;
  all[2].late_division = true;
  all[3].type = "float16";
  all[4].type = "bfloat16";
  all[5] = {.rows = 3, .keys = 4001, .depth = 40, .width = 24, .heads = 4, .key_heads = 1};
  // Parts without a term, and rows without any.
  all[6].score = masked("vj > 3000");
  all[6].start = testing::kInfinity;
  all[7] = all[5];
  all[7].score = masked("vj <= vi * 1500 and vi < 2");
  all[7].start = testing::kInfinity;
  return all;
}

TEST(FewRowsRule, CoresShareKeysWhereTilesAreFew) {
  for (const int cores : {8, 64}) {
    Target target = testing::TestedTarget();
    target.cores = cores;
    for (const ChainedVariant& variant : FewTiles()) {
      const Function program = ParseFunctionOrDie(testing::TextOf(variant));
      const Scheduled scheduled(variant, target, {});
      const Module& module = scheduled.sch.module();
      ASSERT_TRUE(scheduled.made.contains("P.part_keys")) << Print(module);
      EXPECT_GE(2 * ParallelIterations(module), cores) << Print(module);
      const VerifyResult verified = VerifyProgram(module.Main(), &target);
      EXPECT_EQ(verified.verdict(), Verdict::kProven) << Render(verified, module.Main());
      for (const uint64_t seed : {1, 2, 3}) {
        EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target,
                                                           .original = program,
                                                           .seed = seed,
                                                           .tolerance = variant.type == "float32" ? 1e-4 : 1e-2,
                                                           .parallel = true}),
                  "")
            << Print(module);
      }
    }
  }
}

TEST(FewRowsRule, EnoughTilesShareNoKeys) {
  Target target = testing::TestedTarget();
  target.cores = 2;
  const ChainedVariant query = {.rows = 1, .keys = 4096, .depth = 64, .width = 64, .heads = 8, .key_heads = 8};
  const Scheduled scheduled(query, target, {});
  EXPECT_FALSE(scheduled.made.contains("P.part_keys"));
  EXPECT_EQ(ParallelIterations(scheduled.sch.module()), 8);
}

}  // namespace
}  // namespace tilewright
