// One workload from inputs to results: every implementation is prepared and checked, timed against the others, and the
// output of the timed runs is checked again. This compiler is not timed where it is wrong. A peer that is wrong is
// inexact: its error stands beside its time, and nobody is compared with it. One that saturates sums of 8-bit products
// gets weights of seven bits where these make it exact.
#pragma once

#include <memory>
#include <vector>

#include "bench/harness/measure.h"
#include "bench/operators/implementation.h"
#include "bench/operators/result.h"

namespace tilewright::bench {

// What does not come from the implementations.
struct WorkloadLimits {
  // Extents are reduced until the operator takes no more operations than that (reduce_shape.h); 0: they are not.
  double most_operations = 0;
  // Sets of inputs together exceed the cache that they are to leave; 0: the second-level caches of all threads.
  int64_t cache_bytes = 0;
  int most_sets = 32;
};

// One result per implementation, in their order. `settings.num_sets` and `options.num_sets` are chosen here.
std::vector<Result> RunWorkload(const Workload& workload,
                                const std::vector<std::unique_ptr<Implementation>>& implementations,
                                RunSettings settings, MeasureOptions options, const WorkloadLimits& limits = {});

}  // namespace tilewright::bench
