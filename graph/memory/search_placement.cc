#include "graph/memory/search_placement.h"

#include <algorithm>
#include <utility>

namespace tilewright::graph {
namespace {

// Looks at tenants: some 0.1 s.
constexpr int64_t kEffort = 20'000'000;

class Search {
 public:
  Search(absl::Span<const Tenant> tenants, const std::vector<int64_t>& bytes,
         const std::vector<std::vector<int>>& conflicts, int64_t lower_bound, std::vector<int64_t>* best,
         int64_t* total)
      : tenants_(tenants),
        bytes_(bytes),
        conflicts_(conflicts),
        lower_bound_(lower_bound),
        best_(*best),
        total_(*total),
        offsets_(bytes.size(), -1),
        floor_(bytes.size(), 0) {}

  void Run() { Extend(0, 0, 0); }

 private:
  // Places one more tenant, at `last` or above; `placed` have been, up to the height `top`.
  void Extend(size_t placed, int64_t last, int64_t top) {
    if (placed == bytes_.size()) {
      best_ = offsets_;
      total_ = top;
      return;
    }
    effort_ += static_cast<int64_t>(bytes_.size());
    if (CannotImprove(last)) return;
    for (int candidate : Candidates(last)) {
      if (effort_ > kEffort || total_ <= lower_bound_) return;
      const auto i = static_cast<size_t>(candidate);
      const int64_t offset = floor_[i], end = offset + bytes_[i];
      if (end >= total_) continue;
      offsets_[i] = offset;
      std::vector<std::pair<size_t, int64_t>> raised;
      for (int other : conflicts_[i]) {
        const auto j = static_cast<size_t>(other);
        if (offsets_[j] >= 0 || floor_[j] >= end) continue;
        raised.emplace_back(j, floor_[j]);
        floor_[j] = end;
      }
      effort_ += static_cast<int64_t>(conflicts_[i].size());
      Extend(placed + 1, offset, std::max(top, end));
      for (const auto& [j, before] : raised) floor_[j] = before;
      offsets_[i] = -1;
    }
  }

  // Whether some tenant that is not placed yet can only end at the best total or above.
  bool CannotImprove(int64_t last) const {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (offsets_[i] < 0 && std::max(floor_[i], last) + bytes_[i] >= total_) return true;
    }
    return false;
  }

  // Tenants that may come next, the lowest first, of equal ones the largest. A tenant below which another one in
  // conflict with it would still fit is none: in a canonical placement that one comes first.
  std::vector<int> Candidates(int64_t last) {
    std::vector<int> candidates;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (offsets_[i] >= 0 || floor_[i] < last) continue;
      const bool leaves_room = std::any_of(conflicts_[i].begin(), conflicts_[i].end(), [&](int other) {
        const auto j = static_cast<size_t>(other);
        return offsets_[j] < 0 && std::max(floor_[j], last) + bytes_[j] <= floor_[i];
      });
      effort_ += static_cast<int64_t>(conflicts_[i].size());
      if (!leaves_room) candidates.push_back(static_cast<int>(i));
    }
    std::sort(candidates.begin(), candidates.end(), [&](int a, int b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      if (floor_[i] != floor_[j]) return floor_[i] < floor_[j];
      if (Area(i) != Area(j)) return Area(i) > Area(j);
      return a < b;
    });
    return candidates;
  }

  int64_t Area(size_t i) const { return bytes_[i] * (tenants_[i].last - tenants_[i].first + 1); }

  const absl::Span<const Tenant> tenants_;
  const std::vector<int64_t>& bytes_;
  const std::vector<std::vector<int>>& conflicts_;
  const int64_t lower_bound_;
  std::vector<int64_t>& best_;
  int64_t& total_;
  std::vector<int64_t> offsets_;  // -1: not placed
  std::vector<int64_t> floor_;    // the highest end of placed tenants in conflict
  int64_t effort_ = 0;
};

}  // namespace

void SearchPlacement(absl::Span<const Tenant> tenants, const std::vector<int64_t>& bytes,
                     const std::vector<std::vector<int>>& conflicts, int64_t lower_bound, std::vector<int64_t>* offsets,
                     int64_t* total) {
  Search(tenants, bytes, conflicts, lower_bound, offsets, total).Run();
}

}  // namespace tilewright::graph
