// The schedule fuzzer for a minute or so with a fixed seed, and with one that no run had before. A failure prints the
// seed of the schedule, what it did and the program that came out.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "schedule/fuzz/campaign.h"

namespace tilewright::fuzz {
namespace {

void ExpectSound(const Campaign& campaign) {
  for (const Finding& finding : campaign.mismatches()) {
    ADD_FAILURE() << finding.family << ", seed " << finding.seed << ": " << finding.reason << "\n"
                  << finding.schedule << finding.result;
  }
  // A slow machine does not draw enough of them in its time to speak of a median.
  if (campaign.counts().accepted >= 100) EXPECT_GE(campaign.counts().MedianLength(), 5);
}

TEST(ScheduleFuzz, FixedSeed) {
  Campaign campaign({.seed = 1, .count = 50000, .seconds = 90});
  campaign.Run();
  ExpectSound(campaign);
  std::fputs(campaign.Report().c_str(), stdout);
}

TEST(ScheduleFuzz, FreshSeed) {
  const uint64_t seed = std::random_device()();
  std::printf("--seed=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  RecordProperty("seed", std::to_string(seed));
  Campaign campaign({.seed = seed, .count = 50000, .seconds = 60});
  campaign.Run();
  ExpectSound(campaign);
}

}  // namespace
}  // namespace tilewright::fuzz
