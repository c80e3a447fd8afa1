#include "schedule/sampling/sampling.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/math.h"
#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"

namespace tilewright {
namespace {

constexpr const char* kTile = "sample_perfect_tile";
constexpr const char* kPartitionedTile = "sample_partitioned_tile";
constexpr const char* kImperfectTile = "sample_imperfect_tile";
constexpr const char* kCategorical = "sample_categorical";

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

// The extent of the loop, and that there can be that many factors.
Outcome<int64_t> CheckTiling(const char* primitive, const Function& function, uint32_t loop, int64_t n) {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(primitive, function, loop));
  if (n < 1 || n > 64) return Refusal{primitive, "{num0} is not a number of factors", {loop}, {}, {}, {n}};
  const Expr& extent_expr = cast<ForNode>(path.back())->extent;
  const std::optional<int64_t> extent = AsInt(extent_expr);
  if (!extent || *extent < 1) {
    return Refusal{primitive, "the extent {expr0} of {loop0} is not a positive constant", {loop}, {extent_expr}};
  }
  return *extent;
}

std::optional<Refusal> WhyWrongNumber(const char* primitive, uint32_t loop, int64_t n,
                                      const std::vector<int64_t>& factors) {
  if (static_cast<int64_t>(factors.size()) == n) return std::nullopt;
  return Refusal{primitive, "the decision has {num0} factors, not {num1}", {loop}, {}, {}, {std::ssize(factors), n}};
}

std::optional<Refusal> WhyInnermostTooLarge(const char* primitive, uint32_t loop, int64_t max_innermost,
                                            const std::vector<int64_t>& factors) {
  if (factors.back() <= max_innermost) return std::nullopt;
  return Refusal{primitive, "the innermost factor {num0} is over the limit of {num1}",
                 {loop},    {},
                 {},        {factors.back(), max_innermost}};
}

std::optional<Refusal> WhyNotATile(const char* primitive, uint32_t loop, int64_t extent, int64_t n,
                                   const std::vector<int64_t>& factors) {
  if (auto refusal = WhyWrongNumber(primitive, loop, n, factors)) return refusal;
  int64_t rest = extent;
  for (int64_t factor : factors) {
    if (factor <= 0 || rest % factor != 0) {
      return Refusal{
          primitive, "factor {num0} of the decision does not divide the extent {num1} of {loop0} in its turn",
          {loop},    {},
          {},        {factor, extent}};
    }
    rest /= factor;
  }
  if (rest == 1) return std::nullopt;
  return Refusal{primitive, "the product of the decision is {num0}, the extent of {loop0} {num1}",
                 {loop},    {},
                 {},        {extent / rest, extent}};
}

int64_t ProductFrom(const std::vector<int64_t>& factors, int64_t first) {
  return std::accumulate(factors.begin() + first, factors.end(), int64_t{1}, std::multiplies<>());
}

// Each factor but the first is positive, and the first reaches the extent, but not more than it must.
std::optional<Refusal> WhyNotImperfect(uint32_t loop, int64_t extent, int64_t n, const std::vector<int64_t>& factors) {
  if (auto refusal = WhyWrongNumber(kImperfectTile, loop, n, factors)) return refusal;
  int64_t rest = extent;
  for (size_t i = factors.size(); i-- > 1;) {
    if (factors[i] < 1 || factors[i] > extent) {
      return Refusal{kImperfectTile,      "factor {num0} of the decision is not in [1, {num1}]", {loop}, {}, {},
                     {factors[i], extent}};
    }
    rest = CeilDiv(rest, factors[i]);
  }
  if (factors[0] == rest) return std::nullopt;
  return Refusal{kImperfectTile,
                 "the first factor of the decision is {num0}, the others leave {num1} iterations of {loop0}",
                 {loop},
                 {},
                 {},
                 {factors[0], rest}};
}

}  // namespace

Outcome<std::vector<int64_t>> SamplePerfectTile(const Function& function, uint32_t loop, int64_t n,
                                                int64_t max_innermost, Random& random,
                                                const std::optional<std::vector<int64_t>>& decision) {
  TW_ASSIGN_OR_RETURN(int64_t extent, CheckTiling(kTile, function, loop, n));
  if (max_innermost < 1)
    return Refusal{kTile, "the innermost factor cannot be at most {num0}", {loop}, {}, {}, {max_innermost}};
  if (decision) {
    // One that sampling would not draw leads to as good a program as any.
    if (auto refusal = WhyNotATile(kTile, loop, extent, n, *decision)) return *refusal;
    return *decision;
  }
  const std::vector<int64_t> primes = PrimeFactors(extent);
  // Draws until the innermost factor is small enough. With one factor there is no choice.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::vector<int64_t> factors(n, 1);
    for (int64_t prime : primes) factors[random.Below(n)] *= prime;
    if (factors.back() <= max_innermost) return factors;
  }
  std::vector<int64_t> trivial(n, 1);
  trivial[0] = extent;
  if (auto refusal = WhyInnermostTooLarge(kTile, loop, max_innermost, trivial)) return *refusal;
  return trivial;
}

Outcome<std::vector<int64_t>> SamplePartitionedTile(const Function& function, uint32_t loop,
                                                    const PartitionedTile& tile, Random& random,
                                                    const std::optional<std::vector<int64_t>>& decision) {
  TW_ASSIGN_OR_RETURN(int64_t extent, CheckTiling(kPartitionedTile, function, loop, tile.n));
  if (tile.partition < 0 || tile.partition > tile.n) {
    return Refusal{kPartitionedTile,        "the partition {num0} is not in [0, {num1}]", {loop}, {}, {},
                   {tile.partition, tile.n}};
  }
  if (tile.inner_factor < 1 || extent % tile.inner_factor != 0 ||
      (tile.partition == tile.n && tile.inner_factor != 1)) {
    return Refusal{kPartitionedTile,
                   "the inner part cannot be a multiple of {num0}: the extent of {loop0} is {num1}",
                   {loop},
                   {},
                   {},
                   {tile.inner_factor, extent}};
  }
  if (decision) {
    if (auto refusal = WhyNotATile(kPartitionedTile, loop, extent, tile.n, *decision)) return *refusal;
    const int64_t inner = ProductFrom(*decision, tile.partition);
    if (inner % tile.inner_factor != 0) {
      return Refusal{kPartitionedTile,
                     "the inner factors of the decision are {num0} together, no multiple of {num1}",
                     {loop},
                     {},
                     {},
                     {inner, tile.inner_factor}};
    }
    return *decision;
  }
  std::vector<int64_t> factors(tile.n, 1);
  for (int64_t prime : PrimeFactors(extent / tile.inner_factor)) factors[random.Below(tile.n)] *= prime;
  for (int64_t prime : PrimeFactors(tile.inner_factor)) {
    factors[tile.partition + random.Below(tile.n - tile.partition)] *= prime;
  }
  return factors;
}

Outcome<std::vector<int64_t>> SampleImperfectTile(const Function& function, uint32_t loop, int64_t n,
                                                  int64_t max_innermost, Random& random,
                                                  const std::optional<std::vector<int64_t>>& decision) {
  TW_ASSIGN_OR_RETURN(int64_t extent, CheckTiling(kImperfectTile, function, loop, n));
  if (max_innermost < 1)
    return Refusal{kImperfectTile, "the innermost factor cannot be at most {num0}", {loop}, {}, {}, {max_innermost}};
  if (decision) {
    if (auto refusal = WhyNotImperfect(loop, extent, n, *decision)) return *refusal;
    if (n > 1) {
    }
    return *decision;
  }
  std::vector<int64_t> factors(n, 1);
  int64_t rest = extent;
  for (int64_t i = n; i-- > 1;) {
    const int64_t limit = i == n - 1 ? std::min(max_innermost, rest) : rest;
    std::vector<int64_t> candidates;
    for (int64_t power = 1; power <= limit && candidates.size() < 32; power *= 2) candidates.push_back(power);
    for (int64_t divisor = 3; divisor <= std::min<int64_t>(limit, 1024); ++divisor) {
      if (rest % divisor == 0 && (divisor & (divisor - 1)) != 0) candidates.push_back(divisor);
    }
    factors[i] = candidates[random.Below(candidates.size())];
    rest = CeilDiv(rest, factors[i]);
  }
  factors[0] = rest;
  return factors;
}

Outcome<int64_t> SampleCategorical(size_t candidates, const std::vector<double>& probabilities, Random& random,
                                   std::optional<int64_t> decision) {
  const int64_t size = static_cast<int64_t>(candidates);
  if (size == 0) return Refusal{kCategorical, "there are no candidates"};
  if (probabilities.size() != candidates) {
    return Refusal{kCategorical, "there are {num0} candidates and {num1} probabilities",
                   {},           {},
                   {},           {size, std::ssize(probabilities)}};
  }
  double total = 0;
  for (double p : probabilities) {
    if (!(p >= 0)) return Refusal{kCategorical, "a probability is negative"};
    total += p;
  }
  if (!(total > 0)) return Refusal{kCategorical, "the probabilities are all 0"};
  if (decision) {
    if (*decision < 0 || *decision >= size) {
      return Refusal{kCategorical,     "the decision {num0} is not one of {num1} candidates", {}, {}, {},
                     {*decision, size}};
    }
    return *decision;
  }
  double rest = random.Unit() * total;
  for (int64_t i = 0; i < size; ++i) {
    if (rest < probabilities[i]) return i;
    rest -= probabilities[i];
  }
  return size - 1;
}

}  // namespace tilewright
