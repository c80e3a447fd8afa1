#include "autoschedule/sketch/chained/chained_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;

const Target kZen4 = *NamedTarget("x86-znver4");
const ChainLimits kLimits = {.least_rows = 16, .few_rows = true, .score_bytes = 1 << 19, .key_bytes = 1 << 18};

// The chain that begins with P.
std::optional<ChainedPlan> PlanOf(Schedule& sch, const ChainLimits& limits = kLimits) {
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const Function function = sch.module().Main();
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  const BlockRv product = *sch.GetBlock("P");
  const ScopeChild* child = scope.Find(sch.Get(product).As<BlockRef>()->id);
  return PlanChain(sch, product, {kZen4, nullptr, scope, *child, blocks}, limits);
}
std::optional<ChainedPlan> PlanOf(const ChainedVariant& variant) {
  Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(variant)))};
  return PlanOf(sch);
}

TEST(ChainedPlan, TellsRowsFromKeysByWhatIsReduced) {
  Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(ChainedVariant{})))};
  const std::optional<ChainedPlan> plan = PlanOf(sch);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->row_operand->name, "Q");
  EXPECT_EQ(plan->rows, (std::vector<int>{0, 1}));  // heads, rows
  EXPECT_EQ(plan->key, 2);
  EXPECT_EQ(plan->row(), 1);
  EXPECT_EQ(plan->row_extent, 128);
  EXPECT_EQ(plan->key_extent, 256);
  EXPECT_FALSE(plan->has_few_rows());
  EXPECT_FALSE(plan->masked);
  // Behind the product: scores, their maximum, exponentials, their sum, and the second product.
  std::vector<std::string> names;
  for (const ChainedBlock& block : plan->blocks) names.push_back(RealizeOf(sch, block.block).block->name);
  ASSERT_EQ(plan->seconds.size(), 1);
  EXPECT_EQ(names[plan->seconds[0]], "O");
  for (const ChainedBlock& block : plan->blocks) {
    const std::string& name = RealizeOf(sch, block.block).block->name;
    EXPECT_EQ(block.reduces, name == "M" || name == "S" || name == "O") << name;
    EXPECT_EQ(block.along[0], 0) << name;
    if (name == "M") EXPECT_EQ(block.along, (std::vector<int>{0, 1, 2}));
    if (name == "O") EXPECT_EQ(block.IteratorAlong(2), 3) << "keys are its last iterator";
    if (name == "O") EXPECT_EQ(block.along[2], kAlongOther);
  }
}

TEST(ChainedPlan, ProductsOfTheSameWeightsAreSecondOnes) {
  const std::optional<ChainedPlan> plan = PlanOf(ChainedVariant{.two_values = true});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->seconds.size(), 2);
}

TEST(ChainedPlan, TypesAreThoseOfTheSums) {
  const std::optional<ChainedPlan> plan = PlanOf(ChainedVariant{.type = "float64"});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->type, DataType::Float(64));
  EXPECT_FALSE(plan->narrow);
}

TEST(ChainedPlan, WeightsMayBeAResultWhereScoresFit) {
  for (const int64_t keys : {256, 1 << 20}) {
    const std::optional<ChainedPlan> plan = PlanOf(ChainedVariant{.keys = keys, .gives_weights = true});
    EXPECT_EQ(plan.has_value(), keys == 256) << keys;
    if (plan) EXPECT_TRUE(plan->gives_scores);
  }
}

TEST(ChainedPlan, FewQueriesHaveNoTiledRow) {
  const std::optional<ChainedPlan> plan = PlanOf(ChainedVariant{.rows = 1, .keys = 512, .heads = 8, .key_heads = 2});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->has_few_rows());
  EXPECT_EQ(plan->key_extent, 512);
  int64_t rows = 1;
  for (const FewRows& few : plan->few_rows) rows *= few.elements;
  EXPECT_EQ(rows, 4);  // heads that read the same keys
}

TEST(ChainedPlan, AComparisonOfRowsAndKeysMasks) {
  const std::string masked = "T.if_then_else(vj <= vi, P[vh, vi, vj], T.float32(\"-inf\"))";
  const std::optional<ChainedPlan> plan = PlanOf(ChainedVariant{.score = masked, .start = "\"-inf\""});
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->masked);
}

TEST(ChainedPlan, RowsMayBeReducedWithoutASecondProduct) {
  for (const testing::RowsVariant& variant : testing::RowsVariants()) {
    Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(variant)))};
    const std::optional<ChainedPlan> plan = PlanOf(sch);
    ASSERT_TRUE(plan.has_value()) << variant.name;
    EXPECT_TRUE(plan->seconds.empty()) << variant.name;
    EXPECT_EQ(plan->row_extent, 128) << variant.name;
  }
}

// A sketch plans them where it keeps whole rows.
TEST(ChainedPlan, WholeRowsAreNeededForPlacesAndChosenKeys) {
  ChainLimits places = kLimits, chosen = kLimits;
  places.gives_places = chosen.chooses_keys = true;
  for (const testing::RowsVariant& variant : testing::WholeRowsVariants()) {
    SCOPED_TRACE(variant.name);
    Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(variant)))};
    const bool scores = variant.params.find("Z:") != std::string::npos, label = variant.name == "score of a label";
    EXPECT_EQ(PlanOf(sch).has_value(), scores);
    EXPECT_EQ(PlanOf(sch, places).has_value(), !label);
    EXPECT_EQ(PlanOf(sch, chosen).has_value(), scores || label);
    const std::optional<ChainedPlan> plan = PlanOf(sch, label ? chosen : places);
    ASSERT_TRUE(plan.has_value());
    EXPECT_TRUE(plan->needs_all_keys());
    EXPECT_EQ(plan->whole_rows, !scores);
    // Rows that do not fit.
    ChainLimits tight = label ? chosen : places;
    tight.score_bytes = 1 << 10;
    EXPECT_FALSE(PlanOf(sch, tight).has_value());
  }
}

// A product that nothing reduces does not begin a chain.
TEST(ChainedPlan, NeedsAReduction) {
  Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(Q: T.Buffer((128, 16), "float32"), K: T.Buffer((256, 16), "float32"), R: T.Buffer((128, 256), "float32")):
    P = T.alloc_buffer((128, 256), "float32")
    for i, j, d in T.grid(128, 256, 16):
        with T.block("P"):
            vi, vj, vd = T.axis.remap("SSR", [i, j, d])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + Q[vi, vd] * K[vj, vd]
    for i, j in T.grid(128, 256):
        with T.block("R"):
            vi, vj = T.axis.remap("SS", [i, j])
            R[vi, vj] = T.exp(P[vi, vj])
)"))};
  EXPECT_FALSE(PlanOf(sch).has_value());
}

}  // namespace
}  // namespace tilewright
