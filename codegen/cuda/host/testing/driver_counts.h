// What the emulated driver has been asked for, so that tests see what a call costs.
#pragma once

#include <stdint.h>

struct TwDriverCounts {
  int64_t allocations, copies_in, copies_out, launches;
};

// Exported by the emulated driver: `const TwDriverCounts* tw_driver_counts()`.
using TwDriverCountsFunction = const TwDriverCounts* (*)();
