// The search behind PlanMemory, for few tenants.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {

// Looks for a placement that takes less than `total`, down to `lower_bound`, and replaces `offsets` and `total` by the
// best that it finds. `bytes` are the tenants' rounded sizes. Its effort is bounded by a number of steps, not by time,
// so that the result does not depend on the machine.
void SearchPlacement(absl::Span<const Tenant> tenants, const std::vector<int64_t>& bytes,
                     const std::vector<std::vector<int>>& conflicts, int64_t lower_bound, std::vector<int64_t>* offsets,
                     int64_t* total);

}  // namespace tilewright::graph
