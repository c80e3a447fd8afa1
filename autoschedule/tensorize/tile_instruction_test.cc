// Which instructions targets have for tiles of a contraction.
#include "autoschedule/tensorize/tile_instruction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const DataType kF32 = DataType::Float(32), kS32 = DataType::Int(32), kS8 = DataType::Int(8), kU8 = DataType::UInt(8),
               kBf16 = DataType::BFloat16();

std::vector<std::string> Families(const char* target, DataType row_operand, DataType column_operand, DataType sum) {
  std::vector<std::string> families;
  for (const TileInstruction& tile : FindTileInstructions(*NamedTarget(target), row_operand, column_operand, sum)) {
    families.emplace_back(tile.row->family);
  }
  return families;
}

TEST(TileInstruction, AreThoseOfTheTarget) {
  EXPECT_THAT(Families("x86-haswell", kF32, kF32, kF32), ElementsAre("fma"));
  EXPECT_THAT(Families("x86-haswell", kBf16, kBf16, kF32), IsEmpty());
  EXPECT_THAT(Families("x86-sapphirerapids", kBf16, kBf16, kF32), ElementsAre("amx"));
  EXPECT_THAT(Families("x86-sapphirerapids", kU8, kS8, kS32), ElementsAre("amx"));
  EXPECT_THAT(Families("arm-neoverse-v1", kS8, kS8, kS32), ElementsAre("mmla", "dot"));
}

// The best one without a search is that which multiplies the smallest groups.
TEST(TileInstruction, OfSmallestGroups) {
  const auto tile = FindTileInstruction(*NamedTarget("arm-neoverse-v1"), kS8, kS8, kS32);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->row->family, "dot");
  EXPECT_EQ(tile->group, 4);
  EXPECT_EQ(tile->rows(), 1);
  EXPECT_FALSE(FindTileInstruction(*NamedTarget("x86-haswell"), kF32, kF32, kS32));
}

TEST(TileInstruction, CountsProductsOfACycle) {
  const auto haswell = FindTileInstruction(*NamedTarget("x86-haswell"), kF32, kF32, kF32);
  ASSERT_TRUE(haswell);
  EXPECT_EQ(haswell->lanes, 8);
  EXPECT_EQ(haswell->ProductsPerCycle(), 16) << "two multiply-adds of eight lanes";
  EXPECT_EQ(haswell->registers, 16);
  EXPECT_FALSE(haswell->amx());
}

// An intrinsic's name tells its tile apart from all others.
TEST(TileInstruction, NamesTiles) {
  const auto haswell = FindTileInstruction(*NamedTarget("x86-haswell"), kF32, kF32, kF32);
  ASSERT_TRUE(haswell);
  EXPECT_NE(haswell->TileName(0, 6, 16, 1), haswell->TileName(0, 4, 16, 1));
  EXPECT_NE(haswell->TileName(0, 6, 16, 1), haswell->TileName(0, 6, 8, 1));
  EXPECT_NE(haswell->TileName(0, 6, 16, 1), haswell->TileName(0, 6, 16, 2));
}

}  // namespace
}  // namespace tilewright
