#include "graph/sizes/sized_arena.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/status_macros.h"
#include "graph/ir/symbols.h"
#include "graph/memory/memory_plan.h"
#include "graph/memory/placement_order.h"

namespace tilewright::graph {
namespace {

// The tenants for given extents. Sizes that are none for these count as nothing: guards need not hold here.
std::vector<Tenant> TenantsFor(absl::Span<const SizedTenant> sized, const SizeProgram& sizes,
                               const std::vector<int64_t>& extents) {
  SymbolValues values;
  for (size_t i = 0; i < extents.size(); ++i) values.Set(sizes.extents()[i], extents[i]);
  for (const SizedSequence::Size& size : sizes.sizes()) values.Set(size.var, values.Evaluate(size.value).value_or(0));
  std::vector<Tenant> tenants;
  for (const SizedTenant& tenant : sized) {
    tenants.push_back({std::max<int64_t>(values.Evaluate(tenant.bytes).value_or(0), 0), tenant.first, tenant.last});
  }
  return tenants;
}

// Extents by which placements are compared: small and large ones in all pairs of two neighbours.
std::vector<std::vector<int64_t>> SampleExtents(size_t count) {
  constexpr int64_t kExtents[] = {1, 16, 160};
  std::vector<std::vector<int64_t>> samples;
  for (const int64_t even : kExtents) {
    for (const int64_t odd : kExtents) {
      std::vector<int64_t> sample;
      for (size_t i = 0; i < count; ++i) sample.push_back(i % 2 == 0 ? even : odd);
      if (std::ranges::find(samples, sample) == samples.end()) samples.push_back(std::move(sample));
    }
  }
  return samples;
}

// The plan, of those for each sample, whose worst excess over the lower bound is least for all samples.
MemoryPlan ChoosePlan(absl::Span<const SizedTenant> tenants, const SizeProgram& sizes) {
  std::vector<std::vector<int64_t>> bytes;
  std::vector<MemoryPlan> plans;
  for (const std::vector<int64_t>& sample : SampleExtents(sizes.extents().size())) {
    const std::vector<Tenant> numbers = TenantsFor(tenants, sizes, sample);
    plans.push_back(PlanMemory(numbers));
    bytes.emplace_back();
    for (const Tenant& tenant : numbers) bytes.back().push_back(tenant.bytes);
  }
  size_t best = 0;
  double least = 0;
  for (size_t p = 0; p < plans.size(); ++p) {
    double worst = 0;
    for (size_t s = 0; s < plans.size(); ++s) {
      const auto bound = static_cast<double>(std::max<int64_t>(plans[s].lower_bound, 1));
      worst = std::max(worst, static_cast<double>(Place(plans[p], bytes[s]).bytes) / bound);
    }
    if (p > 0 && worst >= least) continue;
    best = p;
    least = worst;
  }
  return std::move(plans[best]);
}

}  // namespace

absl::StatusOr<SizedArena> PlaceForAllSizes(absl::Span<const SizedTenant> tenants, SizeProgram& sizes) {
  const PlacementOrder order = OrderOf(ChoosePlan(tenants, sizes));
  std::vector<Tenant> lifetimes;
  for (const SizedTenant& tenant : tenants) lifetimes.push_back({0, tenant.first, tenant.last});
  TW_RETURN_IF_ERROR(CheckOrder(lifetimes, order));
  SizedArena arena{.offsets = std::vector<Expr>(tenants.size()), .bytes = Extent(0)};
  std::vector<Expr> ends(tenants.size());
  for (const int tenant : order.order) {
    const auto i = static_cast<size_t>(tenant);
    Expr offset = Extent(0);
    for (const int below : order.rests_on[i]) {
      const Expr& end = ends[static_cast<size_t>(below)];
      offset = AsInt(offset) == 0 ? end : sizes.NumberOf(arith::Simplify(Max(offset, end)));
    }
    arena.offsets[i] = offset;
    ends[i] = sizes.NumberOf(arith::Simplify(offset + RoundedSize(sizes, tenants[i].bytes)));
    arena.bytes = sizes.NumberOf(arith::Simplify(Max(arena.bytes, ends[i])));
  }
  return arena;
}

}  // namespace tilewright::graph
