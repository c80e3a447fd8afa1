// Sampling: choices that a search makes and mutates.
//
// Each function draws a decision, or takes a given one and checks it: an illegal decision is refused, never repaired,
// since a repaired one would stand for another program than the trace says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/function.h"
#include "schedule/core/random.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// `n` factors of the loop's extent, outermost first, with the extent as their product and the last one at most
// `max_innermost`. Uniform over the ways to hand out the extent's prime factors, given the bound.
// Conditions: the extent is a positive constant; n > 0.
Outcome<std::vector<int64_t>> SamplePerfectTile(const Function& function, uint32_t loop, int64_t n,
                                                int64_t max_innermost, Random& random,
                                                const std::optional<std::vector<int64_t>>& decision);

// As SamplePerfectTile, with the product of the factors from number `partition` on (the inner ones) a multiple of
// `inner_factor`. Conditions: 0 <= partition <= n, and `inner_factor` divides the extent; with partition == n it is 1.
struct PartitionedTile {
  int64_t n, partition, inner_factor;
};
Outcome<std::vector<int64_t>> SamplePartitionedTile(const Function& function, uint32_t loop,
                                                    const PartitionedTile& tile, Random& random,
                                                    const std::optional<std::vector<int64_t>>& decision);

// `n` factors, the last one at most `max_innermost`, whose product need not be the extent: the first factor is the
// least with which the product reaches it. Splitting by them leaves a tail, that predicates guard or loop_partition
// peels. The other factors drawn are powers of two, or divide what the ones behind them leave of the extent.
Outcome<std::vector<int64_t>> SampleImperfectTile(const Function& function, uint32_t loop, int64_t n,
                                                  int64_t max_innermost, Random& random,
                                                  const std::optional<std::vector<int64_t>>& decision);

// The index of one of `probabilities.size()` candidates, by weight. Conditions: at least one candidate, as many
// candidates as probabilities, which are not negative and not all 0; a decision is in range.
Outcome<int64_t> SampleCategorical(size_t candidates, const std::vector<double>& probabilities, Random& random,
                                   std::optional<int64_t> decision);

}  // namespace tilewright
