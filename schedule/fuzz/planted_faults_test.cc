#include "schedule/fuzz/planted_faults.h"

#include <gtest/gtest.h>

namespace tilewright::fuzz {
namespace {

TEST(PlantedFaults, NothingThatVerifyAcceptsGoesWrong) {
  PlantedFaults faults({.seed = 20260101, .count = 600, .seconds = 60});
  faults.Run();
  for (const PlantedFaults::Miss& miss : faults.missed()) {
    ADD_FAILURE() << "seed " << miss.seed << ", " << miss.fault << ": " << miss.wrong << "\n" << miss.program;
  }
  // Faults of every kind were planted, and most are found.
  int64_t refused = 0;
  for (const auto& [name, counts] : faults.counts()) refused += counts.refused;
  EXPECT_EQ(faults.counts().size(), 14u);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace tilewright::fuzz
