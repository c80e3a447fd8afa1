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
  EXPECT_EQ(MakeProgramText(7).text, MakeProgramText(7).text);
  EXPECT_NE(MakeProgramText(7).text, MakeProgramText(8).text);
  const ProgramText whole = MakeProgramText(7);
  ASSERT_GT(whole.pieces, 1);
  EXPECT_NE(MakeProgramText(7, {1, 2, 3, 4, 5, 6}).text, whole.text);
}

}  // namespace
}  // namespace tilewright
