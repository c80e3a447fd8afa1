#include "codegen/lower/gpu/fragment_lanes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "intrin/operand_layout.h"
#include "ir/arith/analyzer.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

const DataType kI32 = DataType::Int(32);

// Lane tx of a warp or a warpgroup, and the loops that each thread runs.
struct Access {
  explicit Access(int64_t threads, int64_t eights = 8) {
    ForNode::Fields fields;
    fields.var = tx;
    fields.min = Expr(0);
    fields.extent = Expr(threads);
    fields.kind = ForKind::kThreadBound;
    fields.thread_tag = "threadIdx.x";
    fields.body = Sequence({});
    loop = For(std::move(fields));
    analyzer.Bind(tx, Range{Expr(0), Expr(threads)});
    analyzer.Bind(jj, Range{Expr(0), Expr(eights)});
    for (const Var& two : {h, p}) analyzer.Bind(two, Range{Expr(0), Expr(2)});
  }
  std::optional<Expr> RegisterOf(const Expr& element, int64_t columns, const TileLayout& tile) {
    return OwnRegister(element, columns, tile, {cast<ForNode>(loop)}, &analyzer);
  }

  Var tx = Var("tx", kI32), jj = Var("jj", kI32), h = Var("h", kI32), p = Var("p", kI32);
  Stmt loop;
  arith::Analyzer analyzer;
};

Expr Mod(const Expr& e, int64_t by) { return FloorMod(e, Expr(by)); }
Expr Div(const Expr& e, int64_t by) { return FloorDiv(e, Expr(by)); }

// The header's example: a warpgroup's sums of 64 x 64, element by element.
TEST(FragmentLanes, SumsOfAWarpgroupAreRegistersOfTheirLanes) {
  const TileLayout tile = LayoutOfSums("wgmma", 64);
  Access access(128);
  const Expr tx = access.tx, jj = access.jj, h = access.h, p = access.p;
  const Expr row = Div(tx, 32) * Expr(16) + h * Expr(8) + Div(Mod(tx, 32), 4);
  const Expr column = jj * Expr(8) + Mod(tx, 4) * Expr(2) + p;
  const auto found = access.RegisterOf(row * Expr(64) + column, 64, tile);
  ASSERT_TRUE(found.has_value());
  for (int64_t at = 0; at < 32; ++at) {
    const auto value = [&](const Expr& e) {
      return *AsInt(arith::Simplify(Substitute(
          e,
          {{access.tx, Expr(77)}, {access.jj, Expr(at / 4)}, {access.h, Expr(at / 2 % 2)}, {access.p, Expr(at % 2)}})));
    };
    EXPECT_EQ(value(*found), at);
    // What the layout says of the element, which is independent of how the access is written.
    EXPECT_EQ(tile.At({value(row), value(column)}), (std::vector<int64_t>{77, at}));
  }
}

// Two tiles of 16 x 16 side by side, by a warp that is the second of the block too.
TEST(FragmentLanes, TilesFollowEachOther) {
  const TileLayout tile = LayoutOfFragment(FragmentOperand::kSum);
  ASSERT_EQ(tile.shape(), (std::vector<int64_t>{16, 16}));
  for (const int64_t threads : {32, 64}) {
    Access access(threads, 4);
    const Expr lane = Mod(access.tx, 32);
    const Expr row = access.h * Expr(8) + Div(lane, 4);
    const Expr column = Expr(access.jj) * Expr(8) + Mod(lane, 4) * Expr(2) + access.p;
    const auto found = access.RegisterOf(row * Expr(32) + column, 32, tile);
    ASSERT_TRUE(found.has_value()) << threads;
    for (int64_t at = 0; at < 16; ++at) {
      const auto value = [&](const Expr& e) {
        return *AsInt(arith::Simplify(Substitute(e, {{access.tx, Expr(threads - 3)},
                                                     {access.jj, Expr(at / 4)},
                                                     {access.h, Expr(at / 2 % 2)},
                                                     {access.p, Expr(at % 2)}})));
      };
      const int64_t in_row = value(row), in_column = value(column);
      const std::vector<int64_t> owner = tile.At({in_row % 16, in_column % 16});
      EXPECT_EQ(owner[0], 29);
      EXPECT_EQ(value(*found), in_column / 16 * 8 + owner[1]);
    }
  }
}

TEST(FragmentLanes, OthersElementsAreNone) {
  const TileLayout tile = LayoutOfSums("wgmma", 64);
  Access access(128);
  const Expr tx = access.tx, jj = access.jj, h = access.h, p = access.p;
  const Expr row = Div(tx, 32) * Expr(16) + h * Expr(8) + Div(Mod(tx, 32), 4), column = Mod(tx, 4) * Expr(2) + p;
  EXPECT_TRUE(access.RegisterOf(row * Expr(64) + column, 64, tile)) << "its own";
  EXPECT_FALSE(access.RegisterOf(row * Expr(64) + Mod(tx, 4) + p * Expr(4), 64, tile)) << "its neighbours'";
  EXPECT_FALSE(access.RegisterOf(tx * Expr(64) + jj, 64, tile)) << "a row each";
  EXPECT_FALSE(access.RegisterOf(row * Expr(60) + column, 60, tile)) << "columns that no tiles have";
  EXPECT_FALSE(OwnRegister(row * Expr(64) + column, 64, tile, {}, &access.analyzer)) << "no threads";
  // Fewer threads than lanes.
  Access few(32);
  EXPECT_FALSE(few.RegisterOf(Expr(few.tx) * Expr(2) + Expr(few.p), 64, tile));
}

}  // namespace
}  // namespace tilewright
