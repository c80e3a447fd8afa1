#include "tools/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tilewright {
namespace {

using testing::HasSubstr;

// Two calls of 10 and 12 ms whose parts take 2 and 6 ms; one of them does not run in the second call.
Profile Example() {
  Profile profile;
  profile.calls = {{100, 0.010}, {101, 0.012}};
  profile.parts.push_back({"small", "k0", 0.001, {{100.001, 0.002}, {101.001, 0.002}}});
  profile.parts.push_back({"large", "k1", 0, {{100.003, 0.006}, {101.003, 0.006}}});
  profile.parts.push_back({"empty", "k2", 0, {{0, 0}, {0, 0}}});
  profile.bound_seconds = 0.0055;
  return profile;
}

TEST(PrintProfile, TheLongestPartComesFirstAndTheRestLast) {
  std::ostringstream out;
  PrintProfile(Example(), out);
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("profile of 2 calls"));
  EXPECT_LT(text.find("large  (k1)"), text.find("small  (k0)"));
  EXPECT_LT(text.find("small  (k0)"), text.find("between the parts"));
  EXPECT_THAT(text, HasSubstr("54.5%          6  6 to 6"));
  EXPECT_THAT(text, HasSubstr("    50.0%  small"));  // of its bound
  EXPECT_THAT(text, HasSubstr("100.0%         11"));
}

TEST(PrintProfile, FoldsWhatManyPartsTake) {
  Profile profile;
  profile.calls = {{0, 1}};
  for (int i = 0; i < 50; ++i) profile.parts.push_back({"p" + std::to_string(i), "k", 0, {{0, 0.01}}});
  std::ostringstream out;
  PrintProfile(profile, out);
  EXPECT_THAT(out.str(), HasSubstr("10 parts more (--json has all)"));
}

TEST(ProfileJson, HasAllPartsInTheirOrder) {
  const nlohmann::json json = ToJson(Example());
  EXPECT_EQ(json["parts"].size(), 3);
  EXPECT_EQ(json["parts"][0]["name"], "small");
  EXPECT_DOUBLE_EQ(json["parts"][0]["percent_of_bound"], 50);
  EXPECT_FALSE(json["parts"][1].contains("bound_ms"));
  EXPECT_DOUBLE_EQ(json["call"]["median_ms"], 11);
  EXPECT_DOUBLE_EQ(json["call"]["percent_of_bound"], 50);
  EXPECT_NEAR(json["between_ms"], 3, 1e-9);
}

TEST(TraceEvents, BeginWithTheFirstCallAndLeaveOutWhatDidNotRun) {
  const nlohmann::json events = TraceEvents(Example(), "main")["traceEvents"];
  ASSERT_EQ(events.size(), 6);
  EXPECT_EQ(events[0]["name"], "main");
  EXPECT_EQ(events[0]["ts"], 0);
  EXPECT_EQ(events[0]["dur"], 10000);
  EXPECT_EQ(events[1]["name"], "small");
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_NEAR(events[1]["ts"], 1000, 1e-3);
  EXPECT_NEAR(events[3]["ts"], 1e6, 1e-3);  // the second call
}

}  // namespace
}  // namespace tilewright
