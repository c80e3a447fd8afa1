#include "verify/regions/instance_that_writes.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(InstanceThatWrites, ByTheFormOfRegions) {
  const Var v("v", DataType::Int(32)), u("u", DataType::Int(32));
  const std::vector<IterVar> iterators{{v, {0, 12}, IterKind::kSpatial}};
  const auto digits = [](const Expr& e) { return arith::Region{{FloorDiv(e, 2), 1}, {FloorMod(e, 2), 1}}; };
  const auto same = InstanceThatWrites(iterators, digits(v), digits(u + 3));
  ASSERT_TRUE(same);
  ASSERT_EQ(same->size(), 1u);
  EXPECT_TRUE(same->contains(v));
  // One index asks for another instance than the other one does.
  EXPECT_FALSE(InstanceThatWrites(iterators, digits(v), {{FloorDiv(u, 2), 1}, {FloorMod(v, 2), 1}}));
  EXPECT_FALSE(InstanceThatWrites(iterators, digits(v), {{FloorDiv(u, 3), 1}, {FloorMod(u, 2), 1}}));
}

}  // namespace
}  // namespace tilewright
