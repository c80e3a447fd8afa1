#include "graph/memory/check_placement.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {
namespace {

std::string Describe(size_t tenant, const Tenant& t, int64_t offset) {
  return absl::StrCat("value ", tenant, " at [", offset, ", ", offset + t.bytes, ") during steps ", t.first, " to ",
                      t.last);
}

}  // namespace

// Sweeps over the steps with the intervals that are taken. They are disjoint, so a new one overlaps another only if it
// overlaps a neighbour.
absl::Status CheckPlacement(absl::Span<const Tenant> tenants, absl::Span<const int64_t> offsets, int64_t arena_bytes) {
  if (offsets.size() != tenants.size()) {
    return absl::InternalError(absl::StrCat(offsets.size(), " offsets for ", tenants.size(), " values"));
  }
  std::multimap<int, size_t> begins, ends;
  for (size_t i = 0; i < tenants.size(); ++i) {
    const Tenant& t = tenants[i];
    if (t.bytes < 0 || t.first > t.last || offsets[i] < 0 || t.bytes > arena_bytes - offsets[i]) {
      return absl::InternalError(
          absl::StrCat(Describe(i, t, offsets[i]), " does not lie in an arena of ", arena_bytes, " bytes"));
    }
    if (offsets[i] % kArenaAlignment != 0) {
      return absl::InternalError(absl::StrCat(Describe(i, t, offsets[i]), " is not aligned to ", kArenaAlignment));
    }
    if (t.bytes == 0) continue;
    begins.emplace(t.first, i);
    ends.emplace(t.last, i);
  }
  std::map<int64_t, size_t> taken;  // by offset
  auto end = ends.begin();
  for (const auto& [step, i] : begins) {
    for (; end != ends.end() && end->first < step; ++end) taken.erase(offsets[end->second]);
    const auto above = taken.lower_bound(offsets[i]);
    const auto overlaps = [&](size_t j) {
      return offsets[j] < offsets[i] + tenants[i].bytes && offsets[i] < offsets[j] + tenants[j].bytes;
    };
    for (auto other : {above, above == taken.begin() ? taken.end() : std::prev(above)}) {
      if (other == taken.end() || !overlaps(other->second)) continue;
      const size_t j = other->second;
      return absl::InternalError(
          absl::StrCat(Describe(j, tenants[j], offsets[j]), " overlaps ", Describe(i, tenants[i], offsets[i])));
    }
    taken.emplace(offsets[i], i);
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph
