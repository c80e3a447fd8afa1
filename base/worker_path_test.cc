#include "base/worker_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace tilewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(WorkerPath, TheEnvironmentComesFirst) {
  const std::string path = testing::TempDir() + "/some_worker";
  std::ofstream(path) << "#!/bin/sh\n";
  chmod(path.c_str(), 0755);
  setenv("TILEWRIGHT_WORKERS", testing::TempDir().c_str(), 1);
  const auto found = WorkerPath("a/folder/some_worker");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(std::ifstream(*found).good());
  unsetenv("TILEWRIGHT_WORKERS");
  EXPECT_FALSE(WorkerPath("a/folder/some_worker").ok());
}

TEST(WorkerPath, SaysWhereItLooked) {
  EXPECT_THAT(std::string(WorkerPath("a/folder/no_such_worker").status().message()),
              AllOf(StartsWith("there is no worker at "), HasSubstr("/no_such_worker, "),
                    HasSubstr("worker_path_test.runfiles/tilewright/a/folder/no_such_worker")));
}

}  // namespace
}  // namespace tilewright
