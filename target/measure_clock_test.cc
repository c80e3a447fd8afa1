#include "target/measure_clock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

namespace tilewright {
namespace {

volatile sig_atomic_t pauses = 0;

void PauseSoon() {
  const itimerval soon = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

void Pause(int) {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  pauses = pauses - 1;
  if (pauses > 0) PauseSoon();
}

// What is measured divides costs, and decisions are kept on disk: a program that stands still for a while, again and
// again, must not take its machine for slow.
TEST(MeasureClock, HoldsWhereTheProgramStandsStill) {
  const double undisturbed = MeasureClockGhz();
  EXPECT_GT(undisturbed, 0.3);
  EXPECT_LT(undisturbed, 10);
  pauses = 20;
  struct sigaction action = {};
  action.sa_handler = Pause;
  sigaction(SIGALRM, &action, nullptr);
  PauseSoon();
  const double disturbed = MeasureClockGhz();
  EXPECT_EQ(pauses, 0);
  EXPECT_GT(disturbed, undisturbed / 2);
}

}  // namespace
}  // namespace tilewright
