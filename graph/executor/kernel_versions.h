// Versions of a kernel of symbolic extents for single rows.
//
//   kernel          rows of any number: panels of packed weights, unpacked into the caches, by tiles of rows;
//                   attention by blocks of queries
//   kernel_at_one   where the extents that nothing is reduced over are 1: each weight unpacked in registers; one query,
//                   with keys of any number
//
// Both read the same packed constants, so that a model's prompt and its decode are one load. A plan for given sizes
// takes the version that these fit (Kernel::MainFor). Which schedule is made for one row, and whether it is faster, is
// the rules' and the cost model's to say.
#pragma once

#include <vector>

#include "graph/executor/scheduled_kernel.h"

namespace tilewright::graph {

inline constexpr char kKernelAtOne[] = "kernel_at_one";

// Adds the version, where constants are packed in elements of a byte or less or blocks reduce over a symbolic extent,
// the program scheduled for extents of 1 packs constants in the same way, and it is projected to take clearly less time
// there.
void AddVersions(const PrimFunc& canonical, const std::vector<bool>& constant, const Target& target,
                 ScheduledKernel* kernel);

}  // namespace tilewright::graph
