// A sum by register tiles inside of loops that it shares with the block that copies its result.
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((20, 12), "float32"), B: T.Buffer((12, 32), "float32"), C: T.Buffer((20, 32), "float32")):
    for i, j, k in T.grid(20, 32, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

// The sum in registers, and the block that copies it, with tiles of `rows` rows and `width` columns.
struct Tiled {
  Schedule sch{Module(ParseFunctionOrDie(kProduct))};
  BlockRv sum = *sch.GetBlock("C");
  BlockRv copy;
  SumTile tile;

  Tiled(int64_t rows, int64_t width) {
    copy = *StageOutput(sch, sum, "register");
    const std::vector<LoopRv> loops = *sch.GetLoops(copy);
    const Outcome<SumTile> made = MakeSumTile(sch, loops[0], loops[1], rows, width);
    EXPECT_TRUE(made.ok());
    tile = *made;
    EXPECT_TRUE(sch.ComputeAt(sum, tile.place).ok());
  }
  Var IteratorOf(size_t number) const { return RealizeOf(sch, sum).block->iter_vars[number].var; }
};

TEST(ChainedTiles, TilesOfTheSameVectorsFollowEachOther) {
  Tiled tiled(5, 8);
  EXPECT_EQ(ExtentOf(tiled.sch, tiled.tile.place), 4);
  EXPECT_EQ(ExtentOf(tiled.sch, tiled.tile.broadcast), 5);
  EXPECT_EQ(ExtentOf(tiled.sch, tiled.tile.loaded), 8);
  std::vector<int64_t> extents;
  const std::vector<LoopRv> loops = *tiled.sch.GetLoops(tiled.copy);
  for (const LoopRv& loop : loops) extents.push_back(ExtentOf(tiled.sch, loop).value_or(0));
  EXPECT_EQ(extents, (std::vector<int64_t>{4, 4, 5, 8}));  // vectors, tiles, rows, columns
}

// What is reduced is the outermost loop; rows are written out, columns are a vector. 20 rows are 3 tiles of 7, the last
// of which is not whole.
TEST(ChainedTiles, SumsAreWrittenByVectors) {
  for (const int64_t rows : {5, 7}) {
    Tiled tiled(rows, 8);
    const Outcome<std::monostate> written = WriteSum(tiled.sch, tiled.sum, tiled.tile.place, tiled.IteratorOf(1));
    ASSERT_TRUE(written.ok()) << testing::ReasonOf(written, tiled.sch.refused_function());
    const std::vector<LoopRv> inside = *LoopsInside(tiled.sch, tiled.sum, tiled.tile.place);
    ASSERT_EQ(inside.size(), 3u);
    const ForKind kinds[] = {ForKind::kSerial, ForKind::kUnrolled, ForKind::kVectorized};
    const int64_t extents[] = {12, rows, 8};
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(LoopOf(tiled.sch, inside[i]).kind, kinds[i]) << i;
      EXPECT_EQ(ExtentOf(tiled.sch, inside[i]), extents[i]) << i;
    }
    const Module& module = tiled.sch.module();
    EXPECT_EQ(VerifyProgram(module.Main()).verdict(), Verdict::kProven) << Print(module);
    EXPECT_EQ(testing::CompareWithInterpreter(module, {.original = ParseFunctionOrDie(kProduct)}), "") << Print(module);
  }
}

TEST(ChainedTiles, WhatIsNoSumByVectorsIsRefused) {
  Tiled tiled(5, 8);
  const auto reason = [&](BlockRv block, const Var& loaded) {
    return testing::ReasonOf(WriteSum(tiled.sch, block, tiled.tile.place, loaded), tiled.sch.module().Main());
  };
  EXPECT_EQ(reason(tiled.sum, Var("other", DataType::Int(32))), "C is not a sum by vectors");
  // A copy reduces nothing.
  const Var column = RealizeOf(tiled.sch, tiled.copy).block->iter_vars[1].var;
  EXPECT_NE(reason(tiled.copy, column).find("is not a sum by vectors"), std::string::npos);
}

TEST(ChainedTiles, KnowsLoopsOfIterators) {
  Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8, 1), "float32"), B: T.Buffer((8, 1, 4), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            vz = T.axis.spatial(1, 0)
            B[vj, vz, vi] = A[vi, vj, vz]
)"))};
  const BlockRv block = *sch.GetBlock("B");
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  EXPECT_EQ(LoopOfIterator(sch, block, loops, 0), 0u);
  EXPECT_EQ(LoopOfIterator(sch, block, loops, 1), 1u);
  EXPECT_EQ(LoopOfIterator(sch, block, loops, 2), std::nullopt);
  EXPECT_EQ(LoopAlongLast(sch, block, loops), 0u);
}

}  // namespace
}  // namespace tilewright
