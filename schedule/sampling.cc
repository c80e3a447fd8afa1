#include "schedule/sampling.h"

#include <numeric>

#include "schedule/common_refusals.h"

namespace tilewright {
namespace {

constexpr const char* kTile = "sample_perfect_tile";
constexpr const char* kCategorical = "sample_categorical";

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

std::optional<Refusal> WhyNotATile(uint32_t loop, int64_t extent, int64_t n, int64_t max_innermost,
                                   const std::vector<int64_t>& factors) {
  if (static_cast<int64_t>(factors.size()) != n) {
    return Refusal{kTile, "the decision has {num0} factors, not {num1}", {loop}, {}, {}, {std::ssize(factors), n}};
  }
  int64_t rest = extent;
  for (int64_t factor : factors) {
    if (factor <= 0 || rest % factor != 0) {
      return Refusal{kTile,  "factor {num0} of the decision does not divide the extent {num1} of {loop0} in its turn",
                     {loop}, {},
                     {},     {factor, extent}};
    }
    rest /= factor;
  }
  if (rest != 1) {
    return Refusal{kTile,  "the product of the decision is {num0}, the extent of {loop0} {num1}",
                   {loop}, {},
                   {},     {extent / rest, extent}};
  }
  if (factors.back() > max_innermost) {
    return Refusal{kTile,  "the innermost factor {num0} of the decision is over the limit of {num1}",
                   {loop}, {},
                   {},     {factors.back(), max_innermost}};
  }
  return std::nullopt;
}

}  // namespace

Outcome<std::vector<int64_t>> SamplePerfectTile(const Function& function, uint32_t loop, int64_t n,
                                                int64_t max_innermost, Random& random,
                                                const std::optional<std::vector<int64_t>>& decision) {
  Outcome<Path> path = PathToLoop(kTile, function, loop);
  if (!path.ok()) return path.refusal();
  if (n < 1 || n > 64) return Refusal{kTile, "{num0} is no number of factors", {loop}, {}, {}, {n}};
  if (max_innermost < 1)
    return Refusal{kTile, "the innermost factor cannot be at most {num0}", {loop}, {}, {}, {max_innermost}};
  const Expr& extent_expr = cast<ForNode>(path->back())->extent;
  const std::optional<int64_t> extent = AsInt(extent_expr);
  if (!extent || *extent < 1) {
    return Refusal{kTile, "the extent {expr0} of {loop0} is not a positive constant", {loop}, {extent_expr}};
  }
  if (decision) {
    if (auto refusal = WhyNotATile(loop, *extent, n, max_innermost, *decision)) return *refusal;
    return *decision;
  }
  const std::vector<int64_t> primes = PrimeFactors(*extent);
  // Draws until the innermost factor is small enough. With one factor there is no choice.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::vector<int64_t> factors(n, 1);
    for (int64_t prime : primes) factors[random.Below(n)] *= prime;
    if (factors.back() <= max_innermost) return factors;
  }
  std::vector<int64_t> trivial(n, 1);
  trivial[0] = *extent;
  if (auto refusal = WhyNotATile(loop, *extent, n, max_innermost, trivial)) return *refusal;
  return trivial;
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
