// The schedule fuzzer for some seconds: with a fixed seed, and with a fresh one that the output names.
#include <gtest/gtest.h>

#include <chrono>

#include "schedule/fuzz/campaign.h"

namespace tilewright::fuzz {
namespace {

void ExpectSound(const Campaign& campaign) {
  for (const Finding& finding : campaign.mismatches()) {
    ADD_FAILURE() << finding.family << ", seed " << finding.seed << ": " << finding.reason << "\n"
                  << finding.schedule << finding.result;
  }
  EXPECT_GE(campaign.counts().MedianLength(), 5);
}

TEST(ScheduleFuzz, FixedSeed) {
  Campaign campaign({.seed = 1, .count = 1500, .seconds = 60});
  campaign.Run();
  ExpectSound(campaign);
  std::fputs(campaign.Report().c_str(), stdout);
}

TEST(ScheduleFuzz, FreshSeed) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const uint64_t seed = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Campaign campaign({.seed = seed, .count = 100000, .seconds = 10});
  campaign.Run();
  ExpectSound(campaign);
}

}  // namespace
}  // namespace tilewright::fuzz
