#include "graph/executor/kernel_effort.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilewright::graph {
namespace {

// The part of a run's time that the kernels with less effort take together. Whole models of such code are 1 to 3%
// slower; were these kernels 10% slower, the run would be 1% longer.
constexpr double kSmallShareOfRun = 0.1;

}  // namespace

std::vector<CodeEffort> EffortsOf(absl::Span<const double> seconds) {
  std::vector<size_t> shortest(seconds.size());
  std::iota(shortest.begin(), shortest.end(), 0);
  std::ranges::sort(shortest, {}, [&](size_t i) { return std::pair(seconds[i], i); });
  std::vector<CodeEffort> efforts(seconds.size(), CodeEffort::kFull);
  double left = kSmallShareOfRun * std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (const size_t i : shortest) {
    if (seconds[i] <= 0) continue;
    left -= seconds[i];
    if (left < 0) break;
    efforts[i] = CodeEffort::kSmallShare;
  }
  return efforts;
}

}  // namespace tilewright::graph
