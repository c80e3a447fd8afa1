#include "verify/regions/region_cover.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/regions/joined_dimensions.h"
#include "verify/regions/sure_writes.h"
#include "verify/regions/uncovered_reads.h"

namespace tilewright {
namespace {

bool Contains(const Diagnostics& diagnostics, const Diagnostic& read) {
  return std::ranges::any_of(diagnostics, [&](const Diagnostic& other) { return AreOfOneRead(other, read); });
}

// Also by the program in which dimensions that are the digits of one number are joined.
UncoveredReads Find(const Function& function, const std::optional<std::vector<Var>>& positive) {
  UncoveredReads found = FindUncoveredReads(function, positive);
  if (found.refused.empty()) return found;
  std::unordered_set<const VarNode*> buffers;
  for (const Diagnostic& diagnostic : found.refused) buffers.insert(diagnostic.buffer->data.get());
  const std::optional<JoinedDimensions> simpler = JoinDimensions(function, std::move(buffers));
  if (!simpler) return found;
  const UncoveredReads again = FindUncoveredReads(simpler->function, positive);
  std::erase_if(found.refused, [&](const Diagnostic& diagnostic) {
    const VarNode* data = diagnostic.buffer->data.get();
    return simpler->joined.contains(data) && std::ranges::none_of(again.refused, [&](const Diagnostic& other) {
             return other.object == diagnostic.object && other.buffer->data.get() == data;
           });
  });
  for (const Var& size : again.taken_as_positive) {
    const auto is_it = [&](const Var& other) { return other.same_as(size); };
    if (std::ranges::none_of(found.taken_as_positive, is_it)) found.taken_as_positive.push_back(size);
  }
  return found;
}

std::vector<Var> Without(std::vector<Var> sizes, size_t i) {
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(i));
  return sizes;
}

// Reads that are covered where these sizes are at least 1, and for which one of them has to be.
Diagnostics Assumptions(const Function& function, const Diagnostics& refused, const std::vector<Var>& sizes) {
  Diagnostics open = Find(function, std::vector<Var>()).refused;
  std::erase_if(open, [&](const Diagnostic& read) { return Contains(refused, read); });
  if (open.empty()) return open;
  std::vector<std::vector<Var>> needed(open.size());
  for (size_t i = 0; i < sizes.size() && sizes.size() > 1; ++i) {
    const Diagnostics still_open = Find(function, Without(sizes, i)).refused;
    for (size_t d = 0; d < open.size(); ++d) {
      if (Contains(still_open, open[d])) needed[d].push_back(sizes[i]);
    }
  }
  for (size_t d = 0; d < open.size(); ++d) {
    const std::vector<Var>& positive = needed[d].empty() ? sizes : needed[d];
    open[d].verdict = Verdict::kAssumed;
    open[d].enumerable = false;
    open[d].reason = ReadOf(open[d]) + ", which is written before only where " + NamesOf(positive) +
                     (positive.size() == 1 ? " is" : " are") + " at least 1, as is assumed";
  }
  return open;
}

}  // namespace

Diagnostics CheckRegionCover(const Function& function) {
  UncoveredReads found = Find(function, std::nullopt);
  if (found.taken_as_positive.empty()) return std::move(found.refused);
  Diagnostics assumed = Assumptions(function, found.refused, found.taken_as_positive);
  std::ranges::move(assumed, std::back_inserter(found.refused));
  return std::move(found.refused);
}

}  // namespace tilewright
