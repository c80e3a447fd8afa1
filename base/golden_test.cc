#include "base/golden.h"

#include <cstdlib>
#include <string>

#include "base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

TEST(GoldenTest, ComparesOrWrites) {
  const std::string path = testing::TempDir() + "/golden.txt";
  ASSERT_TRUE(WriteFile(path, "one\ntwo\n").ok());
  unsetenv("BUILD_WORKSPACE_DIRECTORY");
  unsetenv("TILEWRIGHT_UPDATE_GOLDEN");
  EXPECT_TRUE(MatchesGolden(path, "one\ntwo\n"));
  const testing::AssertionResult differs = MatchesGolden(path, "one\n2\n");
  EXPECT_FALSE(differs);
  EXPECT_THAT(differs.message(), testing::HasSubstr("line 2: \"two\" is now \"2\""));
  EXPECT_THAT(differs.message(), testing::HasSubstr("TILEWRIGHT_UPDATE_GOLDEN=1"));
  EXPECT_THAT(MatchesGolden(path, "one\n").message(), testing::HasSubstr("line 2: \"two\" is now nothing"));
  EXPECT_FALSE(MatchesGolden(path + ".none", "text"));

  setenv("TILEWRIGHT_UPDATE_GOLDEN", "1", 1);
  EXPECT_TRUE(MatchesGolden(path, "one\n2\n"));
  EXPECT_EQ(*ReadFile(path), "one\n2\n");
}

}  // namespace
}  // namespace tilewright
