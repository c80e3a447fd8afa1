// The schedule fuzzer for some seconds with a fixed seed. Fresh seeds are for long runs of //schedule:schedule_fuzz.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tilewright::fuzz
