#include "schedule/program/proven_after.h"

#include <algorithm>

#include "verify/regions/region_cover.h"
#include "verify/structure/exact_run.h"
#include "verify/structure/spatial_iterators.h"

namespace tilewright {
namespace {

std::optional<Diagnostic> RefutedOf(const Diagnostics& diagnostics, uint32_t block) {
  const auto found = std::ranges::find_if(diagnostics, [&](const Diagnostic& diagnostic) {
    return diagnostic.verdict == Verdict::kRefuted && diagnostic.object == block;
  });
  return found == diagnostics.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<Diagnostic> FindUnwrittenRead(const Function& before, const Function& after, uint32_t block) {
  std::optional<Diagnostic> found = RefutedOf(CheckRegionCover(after), block);
  if (!found || RefutedOf(CheckRegionCover(before), block)) return std::nullopt;
  if (RunExactly(after).Shows(*found)) return std::nullopt;
  return found;
}

std::optional<Diagnostic> FindInstancesThatMeet(const Function& function, uint32_t block) {
  std::optional<Diagnostic> found = RefutedOf(CheckSpatialIterators(function), block);
  if (!found || SpatialInstancesWriteApart(function, block)) return std::nullopt;
  return found;
}

}  // namespace tilewright
