// One workload from inputs to results: every implementation is prepared and checked, those that are right are timed
// against each other, and the output of the timed runs is checked again.
#pragma once

#include <memory>
#include <vector>

#include "bench/harness/measure.h"
#include "bench/operators/implementation.h"
#include "bench/operators/result.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

// One result per implementation, in their order. `settings.num_sets` and `options.num_sets` are chosen here.
std::vector<Result> RunWorkload(const Workload& workload,
                                const std::vector<std::unique_ptr<Implementation>>& implementations,
                                RunSettings settings, MeasureOptions options, runtime::ThreadPool& pool);

}  // namespace tilewright::bench
