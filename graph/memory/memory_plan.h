// Offsets of values in one arena, so that those that are alive at the same time do not overlap.
//
//   const std::vector<Tenant> tenants = {{.bytes = 400, .first = 0, .last = 2}, {.bytes = 80, .first = 1, .last = 3}};
//   const MemoryPlan plan = PlanMemory(tenants);
//   ... arena + plan.offsets[i] ..., plan.bytes
//   TW_RETURN_IF_ERROR(CheckPlacement(tenants, plan.offsets, plan.bytes));     // graph/memory/check_placement.h
//
// Terms:
//   tenant       a piece of memory that is needed during the steps [first, last] of a straight line of steps.
//   conflict     two tenants that are needed during the same step.
//   placement    an offset for each tenant, a multiple of kArenaAlignment.
//   lower bound  the most bytes that are needed during one step: no placement takes less.
//
// A placement is made for given sizes, but it is kept as what holds for all sizes: of two tenants in conflict, which
// one lies below the other. `Place` gives the offsets for other sizes of the same lifetimes, such as those of another
// batch.
//
// Offsets are found by placing tenants one by one, each at the lowest gap that fits, in several orders; where all of
// them take more than the lower bound and there are few tenants, by a branch-and-bound search of bounded effort over
// canonical placements (after MiniMalloc, Moffitt 2023: each tenant rests on another or on the floor, and tenants are
// placed by ascending offset).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/status_macros.h"

namespace tilewright::graph {

// A cache line, and what compiled code expects of its tensors.
inline constexpr int64_t kArenaAlignment = 64;

struct Tenant {
  int64_t bytes = 0;
  int first = 0, last = 0;  // steps, both included
};

struct MemoryPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  int64_t lower_bound = 0;
  // The tenants by ascending offset, and for each tenant (by its number) those in conflict that lie below it.
  std::vector<int> order;
  std::vector<std::vector<int>> below;
};

MemoryPlan PlanMemory(absl::Span<const Tenant> tenants);

struct Placement {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
// The plan's placement with other sizes: each tenant rests on the highest one below it. For the sizes that the plan was
// made for, it takes no more bytes than the plan.
Placement Place(const MemoryPlan& plan, absl::Span<const int64_t> bytes);

// The size that a tenant takes: whole cache lines, and one more where large tenants side by side would all begin at the
// same offset of a page, whose lines compete for the same sets of a cache.
int64_t RoundedBytes(int64_t bytes);

}  // namespace tilewright::graph
