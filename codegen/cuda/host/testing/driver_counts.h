// What the emulated driver has been asked for, so that tests see what a call costs.
#pragma once

#include <stdint.h>

struct TwDriverCounts {
  int64_t allocations, copies_in, copies_out;
  int64_t launches;            // of kernels, those of graphs too
  int64_t dependent_launches;  // of those that may begin before the kernel in front has ended
  int64_t graphs;              // that were made
  int64_t graph_launches;
};

// Exported by the emulated driver: `const TwDriverCounts* tw_driver_counts()`.
using TwDriverCountsFunction = const TwDriverCounts* (*)();
