#include "autoschedule/measure/executor/machine_load.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace tilewright {
namespace {

void Work(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Binds this process and what it starts to one CPU.
void UseOneCpu() {
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  int first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  CPU_ZERO(&cpus);
  CPU_SET(first, &cpus);
  ASSERT_EQ(sched_setaffinity(0, sizeof cpus, &cpus), 0);
}

// On a machine that does other things too the share is greater.
TEST(MachineLoad, CountsOthersAndNotItsOwn) {
  UseOneCpu();
  const MachineLoad whole;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // To a process beside it, the parent is another one.
    const MachineLoad load;
    Work(1);
    _exit(load.OthersShare() > 0.25 ? 0 : 1);
  }
  Work(1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child saw no other process";
  EXPECT_LE(whole.OthersShare(), 1);
  EXPECT_GE(whole.OthersShare(), 0);
}

}  // namespace
}  // namespace tilewright
