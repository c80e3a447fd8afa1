#include "base/files.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright {
namespace {

TEST(FilesTest, KeepEveryByte) {
  const std::string path = testing::TempDir() + "/bytes", bytes("a\r\n\0\xff\x1a", 6);
  ASSERT_TRUE(WriteFile(path, "longer than what replaces it").ok());
  ASSERT_TRUE(WriteFile(path, bytes).ok());
  EXPECT_EQ(*ReadFile(path), bytes);
}

TEST(FilesTest, NameWhatCannotBeReadOrWritten) {
  const std::string folder = testing::TempDir(), path = folder + "/no/such/file";
  EXPECT_EQ(ReadFile(path).status(), absl::NotFoundError("cannot read " + path));
  EXPECT_EQ(ReadFile(folder).status(), absl::NotFoundError("cannot read " + folder));
  EXPECT_EQ(WriteFile(path, "text"), absl::UnavailableError(path + " cannot be written: No such file or directory"));
}

TEST(FilesTest, PathsAreOfTheFolderOfTheUser) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  EXPECT_EQ(AbsolutePath("a/b.py"), "/home/user/a/b.py");
  EXPECT_EQ(AbsolutePath("/a/b.py"), "/a/b.py");
  EXPECT_EQ(AbsolutePath(""), "");
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(AbsolutePath("a/b.py"), "a/b.py");
}

}  // namespace
}  // namespace tilewright
