// Sampling where a producer is computed: in one of the loops around its consumers, where it is, or inlined.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"
#include "schedule/core/random.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// Decisions other than the number of a loop.
inline constexpr int64_t kLocationRoot = -1;    // where it is
inline constexpr int64_t kLocationInline = -2;  // into its consumers

struct ComputeLocation {
  int64_t decision = kLocationRoot;  // or the number of a loop above the first consumer, from 0, outermost first
  uint32_t loop = 0;                 // its id, when the decision names one
};

// A place that compute_at (or compute_inline) accepts, with equal chances; a decision is refused when they do not.
Outcome<ComputeLocation> SampleComputeLocation(const Function& function, uint32_t block, Random& random,
                                               std::optional<int64_t> decision);

}  // namespace tilewright
