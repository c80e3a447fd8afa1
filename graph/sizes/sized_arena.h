// Places in an arena as numbers that a library computes.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/sizes/size_program.h"
#include "ir/expr.h"

namespace tilewright::graph {

struct SizedTenant {
  Expr bytes;               // a number of the size program
  int first = 0, last = 0;  // as graph::Tenant's
};

struct SizedArena {
  std::vector<Expr> offsets;  // by tenant, numbers
  Expr bytes;
};

// Who lies below whom is chosen by several sizes and proven for all (graph/memory/placement_order.h): offsets are
// maxima of ends, added to `sizes`.
absl::StatusOr<SizedArena> PlaceForAllSizes(absl::Span<const SizedTenant> tenants, SizeProgram& sizes);

}  // namespace tilewright::graph
