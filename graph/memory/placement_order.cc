#include "graph/memory/placement_order.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {

PlacementOrder OrderOf(const MemoryPlan& plan) {
  const size_t count = plan.order.size();
  PlacementOrder result{.order = plan.order, .rests_on = std::vector<std::vector<int>>(count)};
  std::vector<size_t> position(count);
  for (size_t p = 0; p < count; ++p) position[static_cast<size_t>(plan.order[p])] = p;
  // For each tenant those that it lies above, by any way.
  std::vector<std::vector<bool>> above(count, std::vector<bool>(count));
  for (const int tenant : plan.order) {
    const auto i = static_cast<size_t>(tenant);
    std::vector<int> below = plan.below[i];
    // The highest first: what they rest on follows from them.
    std::ranges::sort(below, std::greater<>(), [&](int j) { return position[static_cast<size_t>(j)]; });
    for (const int lower : below) {
      const auto j = static_cast<size_t>(lower);
      if (above[i][j]) continue;
      result.rests_on[i].push_back(lower);
      above[i][j] = true;
      for (size_t k = 0; k < count; ++k) {
        if (above[j][k]) above[i][k] = true;
      }
    }
  }
  return result;
}

absl::Status CheckOrder(absl::Span<const Tenant> tenants, const PlacementOrder& order) {
  const size_t count = tenants.size();
  if (order.order.size() != count || order.rests_on.size() != count) {
    return absl::InternalError(absl::StrCat("an order of ", order.order.size(), " tenants for ", count));
  }
  std::vector<bool> placed(count);
  std::vector<std::vector<bool>> reached(count, std::vector<bool>(count));
  for (const int tenant : order.order) {
    if (tenant < 0 || static_cast<size_t>(tenant) >= count || placed[static_cast<size_t>(tenant)]) {
      return absl::InternalError(absl::StrCat("tenant ", tenant, " is placed twice, or is none"));
    }
    const auto i = static_cast<size_t>(tenant);
    placed[i] = true;
    // Everything that can be walked to.
    std::vector<int> pending = order.rests_on[i];
    while (!pending.empty()) {
      const auto j = static_cast<size_t>(pending.back());
      pending.pop_back();
      if (j == i || j >= count || !placed[j]) {
        return absl::InternalError(absl::StrCat("tenant ", i, " rests on ", j, ", which is not placed before it"));
      }
      if (reached[i][j]) continue;
      reached[i][j] = true;
      pending.insert(pending.end(), order.rests_on[j].begin(), order.rests_on[j].end());
    }
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool conflict = tenants[i].first <= tenants[j].last && tenants[j].first <= tenants[i].last;
      if (conflict && !reached[i][j] && !reached[j][i]) {
        return absl::InternalError(
            absl::StrCat("tenants ", j, " and ", i, " are needed at once, and neither rests on the other"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph
