#include "intrin/lookup.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr DataType kU8 = DataType::UInt(8);

const MachineInstruction& RowOf(const char* suffix) { return *InstructionNamed("lookup", "u8", suffix); }

TEST(Lookup, TablesInPartsOfARegisterFindZeros) {
  EXPECT_TRUE(FindsZeros(RowOf("avx2")));
  EXPECT_TRUE(FindsZeros(RowOf("avx512")));
  EXPECT_FALSE(FindsZeros(RowOf("avx512vbmi")));
  EXPECT_FALSE(FindsZeros(*InstructionNamed("lookup", "f32", "avx2")));
}

TEST(Lookup, InstructionsGrowWithTheTable) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family != "lookup" || row.a.type != kU8) continue;
    int before = 0;
    for (int entries = row.k; entries <= 2 * kEntriesBelowHighestBit; entries *= 2) {
      const int instructions = InstructionsToLookUp(row, entries);
      EXPECT_GT(instructions, before) << row.name << " " << entries;
      before = instructions;
    }
  }
  EXPECT_EQ(InstructionsToLookUp(RowOf("avx512vbmi"), 128), 1);
  EXPECT_EQ(InstructionsToLookUp(RowOf("avx512vbmi"), 256), 4);
  EXPECT_LT(InstructionsToLookUp(RowOf("avx512vbmi"), 256), InstructionsToLookUp(RowOf("avx512"), 256));
}

}  // namespace
}  // namespace tilewright
