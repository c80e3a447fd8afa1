#include "bench/harness/command_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using ::testing::ElementsAre;

TEST(JoinRepeatedFlag, JoinsAllForms) {
  EXPECT_THAT(JoinRepeatedFlag({"prog", "--shape=a", "--seconds=1", "--shape", "b", "-shape=c", "rest"}, "shape"),
              ElementsAre("prog", "--seconds=1", "rest", "--shape=a;b;c"));
}

TEST(JoinRepeatedFlag, LeavesOtherArgumentsAlone) {
  EXPECT_THAT(JoinRepeatedFlag({"prog", "--shapes=a", "shape=b", "--shape"}, "shape"),
              ElementsAre("prog", "--shapes=a", "shape=b", "--shape"));
  EXPECT_THAT(JoinRepeatedFlag({}, "shape"), ElementsAre());
}

}  // namespace
}  // namespace tilewright::bench
