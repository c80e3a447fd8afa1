// A placement for every size: who lies below whom.
//
//   const PlacementOrder order = OrderOf(PlanMemory(tenants));
//   TW_RETURN_IF_ERROR(CheckOrder(tenants, order));
//   ... in `order.order`, each tenant's offset is the highest end among `order.rests_on` of it, or 0
//
// Offsets by this rule are a placement without overlaps whatever the sizes are: of two tenants in conflict, one rests
// on the other, directly or by others in between, and begins at its end or above.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {

struct PlacementOrder {
  std::vector<int> order;                  // tenants; each after those that it rests on
  std::vector<std::vector<int>> rests_on;  // by tenant
};

// The plan's order, as few pairs as say it.
PlacementOrder OrderOf(const MemoryPlan& plan);

// Proves it for the lifetimes of the tenants, by other means than those of OrderOf. Internal errors name the tenants.
absl::Status CheckOrder(absl::Span<const Tenant> tenants, const PlacementOrder& order);

}  // namespace tilewright::graph
