// The hints about caches that the rules give (autoschedule/movement/cpu/bypass_caches.h).
#include <gtest/gtest.h>

#include <string>

#include "autoschedule/sketch/auto_schedule.h"
#include "intrin/registry.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "target/target.h"

namespace tilewright {
namespace {

// Two cores with a second-level cache of 1 MiB each and a third level of 32 MiB for both.
Target TwoCores() {
  Target target = *NamedTarget("x86-znver4");
  target.cores = 2;
  target.levels = {{.bytes = 32 << 10}, {.bytes = 1 << 20}, {.bytes = 32 << 20, .shared_by = 2}};
  return target;
}

// The hints of the loops that the rules make, and the choices about them.
struct Hints {
  bool prefetch = false, stream = false;
  std::string choices;
};
Hints HintsOf(const Function& function) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  const AutoScheduled result = AutoSchedule(Module(function), TwoCores(), &intrins, choices);
  Hints hints;
  PreOrder(result.schedule.module().functions()[0]->body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) {
      hints.prefetch |= loop->annotations.contains(kPrefetchNext);
      hints.stream |= loop->annotations.contains(kStream);
    }
    return true;
  });
  for (const Choice& choice : choices.made()) {
    for (const char* name : {".prefetch", ".stream"}) {
      if (choice.name.ends_with(name)) hints.choices += name;
    }
  }
  return hints;
}

TEST(BypassCaches, WhatFitsIsLeftAlone) {
  const Hints hints = HintsOf(ops::Softmax(256, 256));  // 512 KiB
  EXPECT_FALSE(hints.prefetch || hints.stream);
  EXPECT_EQ(hints.choices, "");
}

TEST(BypassCaches, RowsBeyondTheSecondLevelAreFetchedAhead) {
  const Hints hints = HintsOf(ops::Softmax(512, 1024));  // 4 MiB
  EXPECT_TRUE(hints.prefetch);
  EXPECT_FALSE(hints.stream);
  EXPECT_EQ(hints.choices, ".prefetch");
}

TEST(BypassCaches, OutputsBeyondTheLastLevelStream) {
  const Hints rows = HintsOf(ops::Softmax(2048, 2048));  // 32 MiB
  EXPECT_TRUE(rows.prefetch && rows.stream);
  EXPECT_EQ(rows.choices, ".stream.prefetch");
  const Hints product = HintsOf(ops::Matmul(2048, 2048, 64));  // 17 MiB
  EXPECT_TRUE(product.stream);
  EXPECT_FALSE(product.prefetch);
}

}  // namespace
}  // namespace tilewright
