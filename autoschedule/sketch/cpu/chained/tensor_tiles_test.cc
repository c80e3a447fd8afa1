// Which instructions multiply groups of neighbours in chains, and by which tiles.
#include "autoschedule/sketch/cpu/chained/tensor_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/expect.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;

constexpr DataType kBf16 = DataType::BFloat16(), kF32 = DataType::Float(32);

const Target& Named(const std::string& name) {
  static const Target tiles = *NamedTarget("x86-sapphirerapids"), vectors = *NamedTarget("x86-znver4"),
                      neither = *NamedTarget("x86-znver3");
  return name == tiles.name ? tiles : name == vectors.name ? vectors : neither;
}

TEST(DividingTile, DividesAllExtents) {
  for (const char* name : {"x86-sapphirerapids", "x86-znver4"}) {
    const Target& target = Named(name);
    const auto instruction = FindTileInstruction(target, kBf16, kBf16, kF32);
    ASSERT_TRUE(instruction.has_value()) << name;
    EXPECT_EQ(instruction->amx(), target.has("amx-bf16"));
    for (const auto& [rows, columns, depth] :
         {std::array<int64_t, 3>{64, 64, 32}, {48, 96, 64}, {128, 32, 20}, {12, 64, 2}, {256, 256, 96}}) {
      const auto tile = DividingTile(*instruction, rows, columns, depth, target);
      const std::string text = absl::StrCat(name, " ", rows, " x ", columns, " x ", depth);
      if (!tile) {
        EXPECT_EQ(rows, 12) << text;  // few rows alone may have no tile near to the best one
        continue;
      }
      EXPECT_EQ(rows % tile->rows, 0) << text;
      EXPECT_EQ(columns % tile->columns, 0) << text;
      EXPECT_EQ(depth % tile->depth, 0) << text;
      EXPECT_EQ(tile->columns % instruction->lanes, 0) << text;
      EXPECT_EQ(tile->depth % instruction->group, 0) << text;
      EXPECT_LE(tile->depth, instruction->StepDepth()) << text;
    }
  }
}

TEST(DividingTile, OfOtherExtentsIsNone) {
  const Target& target = Named("x86-znver4");
  const auto instruction = FindTileInstruction(target, kBf16, kBf16, kF32);
  EXPECT_FALSE(DividingTile(*instruction, 64, 64, 33, target)) << "the depth is not a multiple of a group";
  EXPECT_FALSE(DividingTile(*instruction, 64, 60, 32, target)) << "columns are not whole vectors";
}

// The instructions of the chain of a variant, "scores x result".
std::string FoundFor(const ChainedVariant& variant, const Target& target) {
  Schedule sch{Module(ParseFunctionOrDie(testing::TextOf(variant)))};
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(sch.module().Main()->body)->block.get());
  const BlockRv product = *sch.GetBlock("P");
  const ScopeChild* child = scope.Find(sch.Get(product).As<BlockRef>()->id);
  const auto plan = PlanChain(sch, product, {target, nullptr, scope, *child, blocks},
                              {.least_rows = 16, .few_rows = true, .score_bytes = 1 << 19, .key_bytes = 1 << 18});
  if (!plan) return "no chain";
  const auto found = InstructionsOf(sch, *plan, target);
  if (!found) return "none";
  const auto name = [](const TileInstruction& i) {
    return absl::StrCat(i.amx() ? "tiles" : "vectors", " of ", i.group);
  };
  return absl::StrCat(name(found->scores), ", ", name(found->result));
}

TEST(ChainInstructions, AreThoseOfNarrowTypesWithDividingTiles) {
  const ChainedVariant narrow = {.rows = 64, .keys = 128, .depth = 32, .width = 32, .type = "bfloat16"};
  EXPECT_EQ(FoundFor(narrow, Named("x86-sapphirerapids")), "tiles of 2, tiles of 2");
  EXPECT_EQ(FoundFor(narrow, Named("x86-znver4")), "vectors of 2, vectors of 2");
  EXPECT_EQ(FoundFor(narrow, Named("x86-znver3")), "none") << "it has no such instruction";
  ChainedVariant other = narrow;
  other.type = "float32";
  EXPECT_EQ(FoundFor(other, Named("x86-znver4")), "none") << "nothing is narrow";
  other = narrow;
  other.depth = 33;
  EXPECT_EQ(FoundFor(other, Named("x86-znver4")), "none") << "the depth is not a multiple of a group";
  other = narrow;
  other.keys = 127;
  EXPECT_EQ(FoundFor(other, Named("x86-znver4")), "none") << "so is the second product's";
  other = narrow;
  other.by_tokens = true;
  other.rows = 1;
  EXPECT_NE(FoundFor(other, Named("x86-znver4")), "vectors of 2, vectors of 2") << "there are few rows";
}

TEST(MultiplyTile, TakesTheLoopsOfATileAlone) {
  Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "bfloat16"), B: T.Buffer((32, 64), "bfloat16"), C: T.Buffer((2, 16, 64), "float32")):
    for b, i, j, k in T.grid(2, 16, 64, 32):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
)"))};
  const Target& target = Named("x86-znver4");
  const ProductTile tile = {*FindTileInstruction(target, kBf16, kBf16, kF32), 4, 32, 2};
  const BlockRv sum = *sch.GetBlock("C");
  const std::vector<LoopRv> loops = *sch.GetLoops(sum);
  const auto iterator = [&](size_t i) { return RealizeOf(sch, sum).block->iter_vars[i].var; };
  // Inside of the second loop rows are missing.
  EXPECT_EQ(testing::ReasonOf(MultiplyTile(sch, sum, loops[1], iterator(1), tile), sch.module().Main()),
            "C is not a sum of a tile");
  // A batch is not a row.
  EXPECT_EQ(testing::ReasonOf(MultiplyTile(sch, sum, loops[1], iterator(0), tile), sch.module().Main()),
            "C is not a sum of a tile");
}

}  // namespace
}  // namespace tilewright
