#include "graph/memory/memory_plan.h"

#include <random>

#include "graph/memory/check_placement.h"
#include "graph/memory/placement_order.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using Tenants = std::vector<Tenant>;

Tenants RandomTenants(std::mt19937_64& random, int count, int steps) {
  Tenants tenants;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % static_cast<uint64_t>(steps));
    const int span = static_cast<int>(random() % 6);
    const auto bytes = static_cast<int64_t>(random() % (random() % 4 == 0 ? 100'000 : 2'000));
    tenants.push_back({bytes, first, std::min(first + span, steps - 1)});
  }
  return tenants;
}

TEST(MemoryPlan, NothingTakesNothing) {
  const MemoryPlan plan = PlanMemory({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.lower_bound, 0);
}

TEST(MemoryPlan, ChainTakesTwoValues) {
  Tenants chain;
  for (int i = 0; i < 10; ++i) chain.push_back({640, i, i + 1});
  const MemoryPlan plan = PlanMemory(chain);
  EXPECT_EQ(plan.bytes, 1280);
  EXPECT_EQ(plan.lower_bound, 1280);
}

TEST(MemoryPlan, RandomOnesAreSound) {
  std::mt19937_64 random(1);
  double excess = 0;
  for (int round = 0; round < 300; ++round) {
    const Tenants tenants = RandomTenants(random, 1 + static_cast<int>(random() % 60), 30);
    const MemoryPlan plan = PlanMemory(tenants);
    ASSERT_EQ(CheckPlacement(tenants, plan.offsets, plan.bytes), absl::OkStatus());
    ASSERT_GE(plan.bytes, plan.lower_bound);
    excess += static_cast<double>(plan.bytes) / static_cast<double>(plan.lower_bound) - 1;
  }
  EXPECT_LT(excess / 300, 0.02);
}

TEST(MemoryPlan, OtherSizesAreSound) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    Tenants tenants = RandomTenants(random, 1 + static_cast<int>(random() % 60), 30);
    const MemoryPlan plan = PlanMemory(tenants);
    std::vector<int64_t> bytes;
    for (const Tenant& tenant : tenants) bytes.push_back(tenant.bytes);
    Placement placement = Place(plan, bytes);
    ASSERT_EQ(CheckPlacement(tenants, placement.offsets, placement.bytes), absl::OkStatus());
    ASSERT_LE(placement.bytes, plan.bytes);
    for (size_t i = 0; i < tenants.size(); ++i) {
      bytes[i] = tenants[i].bytes = static_cast<int64_t>(random() % 50'000 * (random() % 3));
    }
    placement = Place(plan, bytes);
    ASSERT_EQ(CheckPlacement(tenants, placement.offsets, placement.bytes), absl::OkStatus());
  }
}

TEST(MemoryPlan, SearchFindsWhatOrdersDoNot) {
  const auto lines = [](int64_t count) { return count * kArenaAlignment; };
  int found = 0, missed = 0;
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    // Tenants that tile a rectangle of 24 lines by 12 steps exactly: the best placement takes 24 lines.
    Tenants tenants;
    Tenants parts = {{24, 0, 11}};
    for (int cut = 0; cut < 24; ++cut) {
      const size_t at = random() % parts.size();
      Tenant& whole = parts[at];
      Tenant rest = whole;
      if (random() % 2 == 0 && whole.bytes > 1) {
        whole.bytes = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(whole.bytes - 1));
        rest.bytes -= whole.bytes;
      } else if (whole.last > whole.first) {
        whole.last = whole.first + static_cast<int>(random() % static_cast<uint64_t>(whole.last - whole.first));
        rest.first = whole.last + 1;
      } else {
        continue;
      }
      parts.push_back(rest);
    }
    for (const Tenant& part : parts) tenants.push_back({lines(part.bytes), part.first, part.last});
    const MemoryPlan plan = PlanMemory(tenants);
    ASSERT_EQ(plan.lower_bound, lines(24));
    ASSERT_EQ(CheckPlacement(tenants, plan.offsets, plan.bytes), absl::OkStatus());
    ++(plan.bytes == plan.lower_bound ? found : missed);
  }
  EXPECT_GE(found, 190) << missed << " missed";
}

TEST(CheckPlacement, FindsWhatIsPlanted) {
  const Tenants tenants = {{100, 0, 2}, {200, 1, 3}, {64, 3, 4}};
  ASSERT_EQ(CheckPlacement(tenants, {0, 128, 0}, 384), absl::OkStatus());
  const auto message = [&](const std::vector<int64_t>& offsets, int64_t bytes) {
    return std::string(CheckPlacement(tenants, offsets, bytes).message());
  };
  EXPECT_EQ(message({0, 64, 0}, 384),
            "value 0 at [0, 100) during steps 0 to 2 overlaps value 1 at [64, 264) during steps 1 to 3");
  EXPECT_EQ(message({0, 128, 192}, 384),
            "value 1 at [128, 328) during steps 1 to 3 overlaps value 2 at [192, 256) during steps 3 to 4");
  EXPECT_EQ(message({0, 128, 0}, 256),
            "value 1 at [128, 328) during steps 1 to 3 does not lie in an arena of 256 bytes");
  EXPECT_EQ(message({0, 100, 0}, 384), "value 1 at [100, 300) during steps 1 to 3 is not aligned to 64");
  EXPECT_EQ(message({0, 128}, 384), "2 offsets for 3 values");
}

// Every overlap that is planted in a sound placement is found.
TEST(CheckPlacement, FindsRandomOverlaps) {
  std::mt19937_64 random(4);
  int planted = 0;
  for (int round = 0; round < 300; ++round) {
    const Tenants tenants = RandomTenants(random, 20, 10);
    MemoryPlan plan = PlanMemory(tenants);
    const size_t i = random() % tenants.size(), j = random() % tenants.size();
    const bool together = tenants[i].first <= tenants[j].last && tenants[j].first <= tenants[i].last;
    if (i == j || !together || tenants[i].bytes == 0 || tenants[j].bytes == 0) continue;
    plan.offsets[i] = plan.offsets[j];
    EXPECT_NE(CheckPlacement(tenants, plan.offsets, plan.bytes + 200'000), absl::OkStatus());
    ++planted;
  }
  EXPECT_GT(planted, 50);
}

// Offsets by the order are a placement for sizes that the plan has not seen.
TEST(PlacementOrder, HoldsForAllSizes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Tenants tenants = RandomTenants(random, 1 + static_cast<int>(random() % 60), 30);
    const PlacementOrder order = OrderOf(PlanMemory(tenants));
    ASSERT_EQ(CheckOrder(tenants, order), absl::OkStatus());
    for (Tenant& tenant : tenants) tenant.bytes = static_cast<int64_t>(random() % 10'000);
    std::vector<int64_t> offsets(tenants.size());
    int64_t bytes = 0;
    for (const int tenant : order.order) {
      const auto i = static_cast<size_t>(tenant);
      for (const int below : order.rests_on[i]) {
        const auto j = static_cast<size_t>(below);
        offsets[i] = std::max(offsets[i], offsets[j] + RoundedBytes(tenants[j].bytes));
      }
      bytes = std::max(bytes, offsets[i] + RoundedBytes(tenants[i].bytes));
    }
    ASSERT_EQ(CheckPlacement(tenants, offsets, bytes), absl::OkStatus());
  }
}

TEST(PlacementOrder, WhatIsMissingIsNamed) {
  const Tenants tenants = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  PlacementOrder order = OrderOf(PlanMemory(tenants));
  EXPECT_EQ(CheckOrder(tenants, order), absl::OkStatus());
  for (std::vector<int>& below : order.rests_on) below.clear();
  EXPECT_EQ(CheckOrder(tenants, order).message(), "tenants 0 and 1 are needed at once, and neither rests on the other");
  order.order[0] = order.order[1];
  EXPECT_NE(CheckOrder(tenants, order), absl::OkStatus());
}

}  // namespace
}  // namespace tilewright::graph
