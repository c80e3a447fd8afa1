// Proves that a placement is sound. It shares nothing with the planner but the meaning of a tenant.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {

// Internal errors name the tenants: one that does not lie inside of the arena or is not aligned, or two that are needed
// during the same step and overlap.
absl::Status CheckPlacement(absl::Span<const Tenant> tenants, absl::Span<const int64_t> offsets, int64_t arena_bytes);

}  // namespace tilewright::graph
