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

}  // namespace
}  // namespace tilewright
