#include "codegen/cuda/emulator/bank_conflicts.h"

#include <gtest/gtest.h>

namespace tilewright::emulator {
namespace {

// Addresses of 32 lanes, `stride` bytes apart.
std::vector<uint32_t> Strided(uint32_t stride) {
  std::vector<uint32_t> addresses;
  for (uint32_t lane = 0; lane < 32; ++lane) addresses.push_back(lane * stride);
  return addresses;
}

TEST(BankConflicts, NeighbouringWordsHaveBanksOfTheirOwn) { EXPECT_EQ(ConflictsOf(Strided(4), 4), 0); }

TEST(BankConflicts, OneWordForAllLanesIsOneAccess) { EXPECT_EQ(ConflictsOf(Strided(0), 4), 0); }

TEST(BankConflicts, BytesOfOneWordAreOneAccess) { EXPECT_EQ(ConflictsOf(Strided(1), 1), 0); }

TEST(BankConflicts, RowsOfAllBanksMeetInOne) { EXPECT_EQ(ConflictsOf(Strided(128), 4), 31); }

TEST(BankConflicts, AnOddPitchOfWordsHasNone) { EXPECT_EQ(ConflictsOf(Strided(132), 4), 0); }

// 16 bytes of eight lanes are one access of the hardware, of which there are four.
TEST(BankConflicts, WideAccessesAreSeveral) {
  EXPECT_EQ(ConflictsOf(Strided(16), 16), 0);
  EXPECT_EQ(ConflictsOf(Strided(128), 16), 4 * 7);
}

// The second time that lanes come to a place is another access than the first.
TEST(BankConflicts, OccurrencesOfAPlaceAreApart) {
  const int site = 0;
  BankConflicts conflicts;
  for (int lane = 0; lane < 2; ++lane) {
    conflicts.Add(&site, lane, static_cast<uint32_t>(lane) * 128, 4);
    conflicts.Add(&site, lane, static_cast<uint32_t>(lane) * 4, 4);
  }
  EXPECT_EQ(conflicts.Flush(), 1u);
  EXPECT_EQ(conflicts.Flush(), 0u);
}

TEST(BankConflicts, PlacesAreApart) {
  const int sites[2] = {};
  BankConflicts conflicts;
  conflicts.Add(&sites[0], 0, 0, 4);
  conflicts.Add(&sites[1], 1, 128, 4);
  EXPECT_EQ(conflicts.Flush(), 0u);
}

}  // namespace
}  // namespace tilewright::emulator
