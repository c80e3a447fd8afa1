#include "tools/fuzz/command_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace tilewright {
namespace {

// Each ends as its flags say, or is refused by name.
TEST(CommandLines, NoneIsAcceptedAndIgnored) {
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
  const CommandLineFiles files(testing::TempDir() + "/command_lines");
  std::filesystem::current_path(files.folder);  // values that are not paths may become files
  EXPECT_THAT(FindFaults(files, 1, 300), testing::IsEmpty());
}

}  // namespace
}  // namespace tilewright
