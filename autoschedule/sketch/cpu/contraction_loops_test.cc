#include "autoschedule/sketch/cpu/contraction_loops.h"

#include <gtest/gtest.h>

#include <optional>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/contraction_plan.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

// The tiled loops of a product of matrices, in 64 rows of tiles.
class NestOfProduct {
 public:
  explicit NestOfProduct(const char* target)
      : target_(*NamedTarget(target)), sch_(Module(ops::Matmul(512, 512, 512))), block_(*sch_.GetBlock("C")) {
    target_.cores = 2;
    Choices choices = Choices::Preferred();
    plan_ = *PlanContraction(sch_, block_, target_, choices);
    const std::vector<LoopRv> loops = *LoopsByIterator(sch_, block_, "test");
    const std::vector<LoopRv> i = *sch_.Split(loops[0], {Value(), 8}), j = *sch_.Split(loops[1], {Value(), 32}),
                              k = *sch_.Split(loops[2], {Value(), 4});
    loops_ = {.columns = {j[0]}, .rows = {i[0]}, .inner = {k[0]}, .tile = {i[1], j[1], k[1]}};
    EXPECT_TRUE(sch_.Reorder({j[0], i[0], k[0], i[1], j[1], k[1]}).ok());
  }

  // What the outer loops run over, outermost first.
  std::string Nest(const ContractionSizes& sizes, Choices choices = Choices::Preferred()) {
    Schedule sch = sch_;
    const Outcome<LoopNest> nest = NestLoops(sch, "C", *plan_, loops_, sizes, false, target_, choices);
    if (!nest.ok()) return "refused";
    const std::vector<LoopRv> all = *sch.GetLoops(block_);
    std::string order;
    for (size_t i = 0; i < nest->outer.size(); ++i) {
      EXPECT_EQ(LoopOf(sch, all[i]).id, LoopOf(sch, nest->outer[i]).id);
      order += LoopOf(sch, nest->outer[i]).var.name() + " ";
    }
    return order;
  }

 private:
  Target target_;
  Schedule sch_;
  const BlockRv block_;
  std::optional<ContractionPlan> plan_;
  ContractionLoops loops_;
};

TEST(ContractionLoops, ColumnsThatStayNearAreInsideOfRows) {
  NestOfProduct product("x86-znver4");
  EXPECT_EQ(
      product.Nest({.tile_bytes = 1 << 14, .column_bytes = 1 << 16, .column_tiles = 16, .constant_columns = true}),
      "i_0 j_0 ");
  EXPECT_EQ(
      product.Nest({.tile_bytes = 1 << 14, .column_bytes = 1 << 24, .column_tiles = 16, .constant_columns = true}),
      "j_0 i_0 ");
  EXPECT_EQ(product.Nest({.tile_bytes = 1 << 14, .column_bytes = 1 << 16, .column_tiles = 16}), "j_0 i_0 ");
}

TEST(ContractionLoops, RowsAreBlockedWhereTheChoiceSaysSo) {
  NestOfProduct product("x86-znver4");
  const ContractionSizes sizes = {.tile_bytes = 1 << 14, .column_bytes = 1 << 24, .column_tiles = 16};
  EXPECT_EQ(product.Nest(sizes, Choices::GivenOrPreferred({{"C.row_block", 4, {4}}})), "j_0 i_0_0 i_0_1 ");
  EXPECT_EQ(product.Nest(sizes, Choices::GivenOrPreferred({{"C.row_block", 4, {4}}, {"C.columns_after", 1, {1}}})),
            "i_0_0 j_0 i_0_1 ");
}

}  // namespace
}  // namespace tilewright
