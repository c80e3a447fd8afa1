#include "bench/harness/other_load.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "codegen/runtime/timer.h"
#include "gtest/gtest.h"

extern char** environ;

namespace tilewright::bench {
namespace {

TEST(OtherLoad, OwnWorkIsNotCountedAndThatOfOthersIs) {
  const auto spin = [](int64_t milliseconds) {
    const int64_t end = runtime::NowNanoseconds() + milliseconds * 1'000'000;
    while (runtime::NowNanoseconds() < end) {
    }
  };
  const OtherLoad quiet;
  spin(300);
  const double own_share = quiet.Share();

  const OtherLoad busy;
  const char* arguments[] = {"sh", "-c", "while :; do :; done", nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
  usleep(300'000);
  const double share = busy.Share();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_LT(busy.Share(), share) << "what the child took is our own when it has ended";

  // A test machine may be busy anyway, so only what must hold everywhere.
  EXPECT_GE(own_share, 0);
  EXPECT_LE(own_share, 1);
  EXPECT_GT(share, 0.5 / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) * 0.5);
}

}  // namespace
}  // namespace tilewright::bench
