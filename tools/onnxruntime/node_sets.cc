#include "tools/onnxruntime/node_sets.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tilewright::onnxruntime {

// A node's level is how often a path to it returns from nodes that are not taken. A path that leaves the taken nodes of
// a level and returns comes back at a higher one.
std::vector<std::vector<size_t>> SetsOf(const std::vector<std::vector<size_t>>& writers,
                                        const std::vector<bool>& taken) {
  const size_t count = writers.size();
  std::vector<size_t> levels(count), leaders(count);
  std::iota(leaders.begin(), leaders.end(), 0);
  const auto leader = [&](size_t i) {
    while (leaders[i] != i) i = leaders[i] = leaders[leaders[i]];
    return i;
  };
  for (size_t i = 0; i < count; ++i) {
    for (size_t writer : writers[i]) {
      levels[i] = std::max(levels[i], levels[writer] + (taken[i] && !taken[writer] ? 1 : 0));
    }
    if (!taken[i]) continue;
    for (size_t writer : writers[i]) {
      if (taken[writer] && levels[writer] == levels[i]) leaders[leader(i)] = leader(writer);
    }
  }
  std::map<size_t, std::vector<size_t>> sets;
  for (size_t i = 0; i < count; ++i) {
    if (taken[i]) sets[leader(i)].push_back(i);
  }
  std::vector<std::vector<size_t>> result;
  for (auto& [first, nodes] : sets) result.push_back(std::move(nodes));
  return result;
}

}  // namespace tilewright::onnxruntime
