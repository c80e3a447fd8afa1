#include "base/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearestNames, DistancesCountSteps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("batch", "batch"), 0);
  EXPECT_EQ(EditDistance("bach", "batch"), 1);
  EXPECT_EQ(EditDistance("batch", "bach"), 1);
  EXPECT_EQ(EditDistance("bitch", "batch"), 1);
  EXPECT_EQ(EditDistance("lvlm", "llvm"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestNames, NearestFirst) {
  const std::vector<std::string> names = {"--trace", "--target", "--script", "--seed", "--seconds"};
  EXPECT_THAT(NearestNames("--tarce", names), ElementsAre("--trace", "--target"));
  EXPECT_THAT(NearestNames("--sed", names, 1), ElementsAre("--seed"));
  EXPECT_THAT(NearestNames("--nothing", names), IsEmpty());
  EXPECT_THAT(NearestNames("", names), IsEmpty());
  EXPECT_THAT(NearestNames(std::string(10000, 'a'), std::vector<std::string>{std::string(10000, 'a')}), IsEmpty());
}

TEST(NearestNames, BeginningsAreNear) {
  const std::vector<std::string> names = {"x86-sapphirerapids", "cuda-sm90a"};
  EXPECT_THAT(NearestNames("x86-sapphire", names), ElementsAre("x86-sapphirerapids"));
  EXPECT_THAT(NearestNames("CUDA-SM90", names), ElementsAre("cuda-sm90a"));
  EXPECT_THAT(NearestNames("cu", names), IsEmpty());
}

TEST(NearestNames, Sentences) {
  const std::vector<std::string> names = {"w1", "w2", "w3", "bias"};
  EXPECT_EQ(DidYouMean("w4", names), "; did you mean w1, w2 or w3?");
  EXPECT_EQ(DidYouMean("bais", names), "; did you mean bias?");
  EXPECT_EQ(DidYouMean("image", names), "");
}

}  // namespace
}  // namespace tilewright
