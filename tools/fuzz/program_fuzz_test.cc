#include <gtest/gtest.h>

#include <sstream>

#include "tools/fuzz/campaign.h"

namespace tilewright {
namespace {

TEST(ProgramFuzz, FindsNothing) {
  std::ostringstream found;
  const ProgramCounts counts = RunProgramCampaign({.first_seed = 1, .count = 300}, found);
  EXPECT_EQ(found.str(), "");
  // Most programs are judged.
  EXPECT_GT(counts.by_kind.at(Judgement::Result::kRight), 150);
}

TEST(ProgramFuzz, MakesTheSameProgramAgain) {
  for (uint64_t seed : {7, 8, 9}) EXPECT_EQ(MakeProgramText(seed).text, MakeProgramText(seed).text);
  EXPECT_NE(MakeProgramText(7).text, MakeProgramText(8).text);
  const ProgramText whole = MakeProgramText(11);
  ASSERT_GT(whole.pieces, 1);
  EXPECT_NE(MakeProgramText(11, {1, 2, 3, 4, 5, 6}).text, whole.text);
}

}  // namespace
}  // namespace tilewright
