// Programs that print, fail, are not there, or are ended by a signal.
#include "base/run_command.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright {
namespace {

TEST(RunCommand, GivesWhatIsPrintedAndTheStatus) {
  std::string output = "from before";
  EXPECT_EQ(RunCommand({"sh", "-c", "echo out; echo err >&2"}, &output), 0);
  EXPECT_EQ(output, "out\nerr\n");
  EXPECT_EQ(RunCommand({"sh", "-c", "printf x; exit 7"}, &output), 7);
  EXPECT_EQ(output, "x");
}

// Arguments are handed on as they are: no shell reads them.
TEST(RunCommand, ReadsNothingIntoArguments) {
  std::string output;
  EXPECT_EQ(RunCommand({"printf", "%s|", "a b", "$HOME", "*"}, &output), 0);
  EXPECT_EQ(output, "a b|$HOME|*|");
}

// More than a pipe holds.
TEST(RunCommand, ReadsLongOutput) {
  std::string output;
  EXPECT_EQ(RunCommand({"head", "-c", "1000000", "/dev/zero"}, &output), 0);
  EXPECT_EQ(output, std::string(1000000, '\0'));
}

TEST(RunCommand, SaysThatThereIsNoSuchProgram) {
  std::string output;
  EXPECT_EQ(RunCommand({"no-program-of-this-name"}, &output), 127);
  EXPECT_EQ(RunCommand({"/dev/null"}, &output), -1) << "it may not be executed";
}

TEST(RunCommand, CountsASignalAsFailure) {
  std::string output;
  EXPECT_EQ(RunCommand({"sh", "-c", "kill -9 $$"}, &output), 1);
}

}  // namespace
}  // namespace tilewright
