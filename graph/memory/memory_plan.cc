#include "graph/memory/memory_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/math.h"
#include "graph/memory/search_placement.h"

namespace tilewright::graph {
namespace {

using Offsets = std::vector<int64_t>;

// Each tenant's conflicts.
std::vector<std::vector<int>> Conflicts(absl::Span<const Tenant> tenants) {
  std::vector<std::vector<int>> conflicts(tenants.size());
  for (size_t i = 0; i < tenants.size(); ++i) {
    for (size_t j = i + 1; j < tenants.size(); ++j) {
      if (tenants[i].first > tenants[j].last || tenants[j].first > tenants[i].last) continue;
      conflicts[i].push_back(static_cast<int>(j));
      conflicts[j].push_back(static_cast<int>(i));
    }
  }
  return conflicts;
}

int64_t LowerBound(absl::Span<const Tenant> tenants, const std::vector<int64_t>& bytes) {
  int last = -1;
  for (const Tenant& tenant : tenants) last = std::max(last, tenant.last);
  std::vector<int64_t> change(static_cast<size_t>(last + 2));
  for (size_t i = 0; i < tenants.size(); ++i) {
    change[static_cast<size_t>(tenants[i].first)] += bytes[i];
    change[static_cast<size_t>(tenants[i].last) + 1] -= bytes[i];
  }
  int64_t live = 0, most = 0;
  for (int64_t delta : change) most = std::max(most, live += delta);
  return most;
}

// Each tenant of `order` at the lowest gap among those that were placed before it.
Offsets PlaceInOrder(const std::vector<int>& order, const std::vector<int64_t>& bytes,
                     const std::vector<std::vector<int>>& conflicts, int64_t* total) {
  Offsets offsets(bytes.size(), -1);
  *total = 0;
  std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end)
  for (int tenant : order) {
    const auto i = static_cast<size_t>(tenant);
    taken.clear();
    for (int other : conflicts[i]) {
      const auto j = static_cast<size_t>(other);
      if (offsets[j] >= 0) taken.emplace_back(offsets[j], offsets[j] + bytes[j]);
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + bytes[i] <= begin) break;
      offset = std::max(offset, end);
    }
    offsets[i] = offset;
    *total = std::max(*total, offset + bytes[i]);
  }
  return offsets;
}

std::vector<int> SortedBy(size_t count, const std::function<double(size_t)>& key) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const double first = key(static_cast<size_t>(a)), second = key(static_cast<size_t>(b));
    return first != second ? first > second : a < b;
  });
  return order;
}

}  // namespace

int64_t RoundedBytes(int64_t bytes) {
  // Tensors of a multiple of this are staggered. Any value is right; this one is a power of two that L1's sets divide.
  constexpr int64_t kStaggered = 4096;
  // At least one, so that of two tenants in conflict one lies below the other.
  const int64_t lines = std::max<int64_t>(CeilDiv(bytes, kArenaAlignment), 1) * kArenaAlignment;
  return lines >= kStaggered && lines % kStaggered == 0 ? lines + kArenaAlignment : lines;
}

MemoryPlan PlanMemory(absl::Span<const Tenant> tenants) {
  // More tenants than this are placed by orders only.
  constexpr size_t kMostSearched = 200;
  std::vector<int64_t> bytes;
  for (const Tenant& tenant : tenants) bytes.push_back(RoundedBytes(tenant.bytes));
  const std::vector<std::vector<int>> conflicts = Conflicts(tenants);
  MemoryPlan plan;
  plan.lower_bound = LowerBound(tenants, bytes);
  plan.bytes = INT64_MAX;
  const auto span = [&](size_t i) { return static_cast<double>(tenants[i].last - tenants[i].first + 1); };
  const auto size = [&](size_t i) { return static_cast<double>(bytes[i]); };
  const std::function<double(size_t)> keys[] = {size, [&](size_t i) { return size(i) * span(i); }, span,
                                                [&](size_t i) { return -static_cast<double>(tenants[i].first); }};
  for (const auto& key : keys) {
    int64_t total;
    Offsets offsets = PlaceInOrder(SortedBy(bytes.size(), key), bytes, conflicts, &total);
    if (total >= plan.bytes) continue;
    plan.bytes = total;
    plan.offsets = std::move(offsets);
  }
  if (plan.bytes > plan.lower_bound && tenants.size() <= kMostSearched) {
    SearchPlacement(tenants, bytes, conflicts, plan.lower_bound, &plan.offsets, &plan.bytes);
  }
  plan.order = SortedBy(bytes.size(), [&](size_t i) { return -static_cast<double>(plan.offsets[i]); });
  plan.below.resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int j : conflicts[i]) {
      if (plan.offsets[static_cast<size_t>(j)] + bytes[static_cast<size_t>(j)] <= plan.offsets[i]) {
        plan.below[i].push_back(j);
      }
    }
  }
  return plan;
}

Placement Place(const MemoryPlan& plan, absl::Span<const int64_t> bytes) {
  Placement placement{.offsets = std::vector<int64_t>(bytes.size())};
  for (int tenant : plan.order) {
    const auto i = static_cast<size_t>(tenant);
    int64_t offset = 0;
    for (int j : plan.below[i]) {
      const auto k = static_cast<size_t>(j);
      offset = std::max(offset, placement.offsets[k] + RoundedBytes(bytes[k]));
    }
    placement.offsets[i] = offset;
    placement.bytes = std::max(placement.bytes, offset + RoundedBytes(bytes[i]));
  }
  return placement;
}

}  // namespace tilewright::graph
