#include "autoschedule/measure/protocol/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace tilewright {
namespace {

TEST(RunFolder, GoesWithTheObject) {
  std::string path;
  {
    const auto folder = RunFolder::Make();
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = folder->path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RunFolder, RemovesWhatKilledProcessesLeft) {
  const auto mine = RunFolder::Make();
  ASSERT_TRUE(mine.ok());
  // A process that is no more.
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  const std::string left = *UserFolder() + "/run-" + std::to_string(pid) + "-abcdef";
  ASSERT_EQ(mkdir(left.c_str(), 0700), 0);
  const auto next = RunFolder::Make();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(mine->path()));
}

}  // namespace
}  // namespace tilewright
