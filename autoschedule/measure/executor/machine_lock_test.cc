#include "autoschedule/measure/executor/machine_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace tilewright {
namespace {

TEST(MachineLock, WhoMeasuresIsAlone) {
  auto a = MachineLock::Open(), b = MachineLock::Open();
  ASSERT_TRUE(a.ok() && b.ok()) << a.status();
  {
    const MachineLock::Guard working = a->Shared();
    const MachineLock::Guard beside = b->Shared();
  }
  std::atomic<bool> measured = false;
  std::thread other;
  {
    const MachineLock::Guard working = a->Shared();
    other = std::thread([&] {
      const MachineLock::Guard alone = b->Exclusive();
      measured = true;
    });
    usleep(50'000);
    EXPECT_FALSE(measured);
  }
  other.join();
  EXPECT_TRUE(measured);
}

TEST(MachineLock, WaitingIsCountedAndEnds) {
  auto a = MachineLock::Open(), b = MachineLock::Open();
  ASSERT_TRUE(a.ok() && b.ok()) << a.status();
  EXPECT_TRUE(b->Exclusive().held());
  EXPECT_EQ(b->waited_seconds(), 0);
  const MachineLock::Guard working = a->Shared();
  b->LimitWaiting(0.05);
  EXPECT_FALSE(b->Exclusive().held());
  EXPECT_GE(b->waited_seconds(), 0.04);
  EXPECT_TRUE(b->Shared().held());
  b->LimitWaiting(0);
  EXPECT_FALSE(b->Exclusive().held());
}

}  // namespace
}  // namespace tilewright
