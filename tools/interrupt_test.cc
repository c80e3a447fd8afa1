#include "tools/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tilewright {
namespace {

TEST(Interrupt, NotesTheFirstOne) {
  {
    const Interrupt interrupt;
    EXPECT_FALSE(Interrupt::Asked());
    raise(SIGINT);
    EXPECT_TRUE(Interrupt::Asked());
    EXPECT_EXIT(raise(SIGINT), testing::KilledBySignal(SIGINT), "");
  }
  const Interrupt again;
  EXPECT_FALSE(Interrupt::Asked());
}

}  // namespace
}  // namespace tilewright
