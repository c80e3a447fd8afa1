#include "codegen/cuda/cxx_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/temporary_folder.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;

TEST(CxxCompiler, CompilesAndSaysWhyNot) {
  const TemporaryFolder folder;
  ASSERT_TRUE(folder.Write("right.cc", "int main() { return 0; }\n") && folder.Write("wrong.cc", "int main( {}\n"));
  const std::string program = folder.path() / "right";
  const absl::Status right = RunCxxCompiler({"-o", program, folder.path() / "right.cc"}, "a test");
  if (absl::IsFailedPrecondition(right)) GTEST_SKIP() << right;
  EXPECT_TRUE(right.ok()) << right;
  EXPECT_TRUE(std::filesystem::exists(program));
  const absl::Status wrong = RunCxxCompiler({"-fsyntax-only", folder.path() / "wrong.cc"}, "a test");
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(wrong.message()), HasSubstr(" refuses what a test compiles: "));
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("wrong.cc:1"));
}

TEST(CxxCompiler, MayNotBeInstalled) {
  const TemporaryFolder empty;
  const char* const set = std::getenv("PATH");
  const std::string path = set != nullptr ? set : "";
  ASSERT_EQ(setenv("PATH", empty.path().c_str(), 1), 0);
  const absl::Status status = RunCxxCompiler({"--version"}, "a test");
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  EXPECT_EQ(status,
            absl::FailedPreconditionError("a test needs a C++ compiler: none of clang++-19, clang++, g++, c++ is "
                                          "installed"));
}

}  // namespace
}  // namespace tilewright::cuda
