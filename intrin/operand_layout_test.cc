#include "intrin/operand_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using ::testing::ElementsAre;

TEST(LayoutOf, EachOperandOfTheTable) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.n == 0) continue;
    const int64_t n = row.n;
    EXPECT_THAT(LayoutOf(row.a, row.m, row.k).shape(), ElementsAre(row.m, row.k)) << row.name << " " << row.types;
    EXPECT_THAT(LayoutOf(row.b, row.k, n).shape(), ElementsAre(row.k, n)) << row.name << " " << row.types;
    const TileLayout sums = LayoutOf(row.c, row.m, n);
    EXPECT_THAT(sums.shape(), ElementsAre(row.m, n)) << row.name << " " << row.types;
    const int64_t lanes = row.scope == ExecScope::kWarpgroup ? 128 : 32;
    if (sums.owners() == 1) EXPECT_THAT(sums.places(), ElementsAre(lanes, row.m * n / lanes)) << row.name;
  }
}

TEST(LayoutOf, GroupsOfNeighboursAlongK) {
  const MachineInstruction& row = *InstructionNamed("dot", "u8s8", "avx512vnni");
  const TileLayout b = LayoutOf(row.b, 64, 16);
  EXPECT_THAT(b.places(), ElementsAre(16, 16, 4));
  EXPECT_THAT(b.At({6, 5}), ElementsAre(1, 5, 2));
  EXPECT_THAT(b.Inverse().At({1, 5, 2}), ElementsAre(6, 5));
}

TEST(LayoutOf, OperandsWithoutOneLieInRows) {
  const MachineInstruction& row = *InstructionNamed("fma", "f32", "avx2");
  EXPECT_THAT(LayoutOf(row.c, 3, 8).At({2, 7}), ElementsAre(2, 7));
}

TEST(LayoutOfSums, AreTilesSideBySide) {
  EXPECT_EQ(LayoutOfSums("wgmma", 16), LayoutOfSums("wgmma", 8).Repeat(1, 2, 1));
  EXPECT_EQ(LayoutOfSums("mma", 16), LayoutOfSums("mma", 8).Repeat(1, 2, 1));
  // A warpgroup's are those of its four warps.
  const TileLayout warpgroup = LayoutOfSums("wgmma", 24);
  EXPECT_THAT(warpgroup.places(), ElementsAre(128, 12));
  EXPECT_EQ(warpgroup, LayoutOfSums("mma", 24).Repeat(0, 4, 0));
}

TEST(ElementOf, RegistersOfLanes) {
  const ElementText sum = ElementOf(LayoutOfFragment(FragmentOperand::kSum));
  EXPECT_EQ(sum.row, "tx // 4 + e // 2 % 2 * 8");
  EXPECT_EQ(sum.column, "tx % 4 * 2 + e % 2 + e // 4 * 8");
  EXPECT_EQ(sum.elements, 8);
  const ElementText bytes = ElementOf(LayoutOfFragment(FragmentOperand::kB, 8, 32));
  EXPECT_EQ(bytes.row, "tx % 4 * 4 + e % 4 + e // 4 % 2 * 16");
  EXPECT_EQ(bytes.column, "tx // 4 + e // 8 * 8");
  EXPECT_EQ(bytes.elements, 16);
}

TEST(OwnerText, KeepsTheOrderOfOperations) {
  EXPECT_EQ(OwnerText(LayoutOfSums("mma", 8), "a + 1", "b"), "(a + 1) % 8 * 4 + (b) // 2, (a + 1) // 8 * 2 + (b) % 2");
}

}  // namespace
}  // namespace tilewright
