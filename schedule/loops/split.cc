#include "schedule/loops/split.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_nest.h"

namespace tilewright {
namespace {

constexpr const char* kName = "split";

// Divisors that are named, those near the factor that was given.
constexpr size_t kMostDivisors = 6;

// "; 512 is divided by 4, 8, 16, ...": what else the product might be. Nothing for extents that are not numbers.
std::string FactorsThatDivide(const Expr& extent, const Expr& product) {
  const std::optional<int64_t> whole = AsInt(extent), given = AsInt(product);
  constexpr int64_t kLargest = 100'000'000;  // divisors are found by trying
  if (!whole || !given || *whole < 2 || *whole > kLargest) return "";
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= *whole; ++d) {
    if (*whole % d != 0) continue;
    if (d > 1) divisors.push_back(d);
    if (d * d != *whole) divisors.push_back(*whole / d);
  }
  const auto distance = [&](int64_t d) { return d < *given ? *given - d : d - *given; };
  std::ranges::sort(divisors, {}, distance);
  divisors.resize(std::min(divisors.size(), kMostDivisors));
  std::ranges::sort(divisors);
  return absl::StrCat("; ", *whole, " is divided by ", absl::StrJoin(divisors, ", "),
                      ", and None stands for the factor that is left");
}

std::vector<Expr> Given(const std::vector<Expr>& factors) {
  std::vector<Expr> given;
  for (const Expr& factor : factors) {
    if (factor) given.push_back(factor);
  }
  return given;
}

// The factors with the absent one filled in, or why they do not fit.
Outcome<std::vector<Expr>> CompleteFactors(arith::Analyzer& analyzer, const ForNode& loop,
                                           const std::vector<Expr>& factors) {
  if (factors.empty()) return Refusal{kName, "there are no factors", {loop.id}};
  Expr product = Const(loop.var.dtype(), 1);
  int absent = -1;
  std::vector<Expr> complete;
  for (size_t i = 0; i < factors.size(); ++i) {
    const std::optional<int64_t> value = factors[i] ? AsInt(factors[i]) : std::nullopt;
    if (value && *value > MaxValue(loop.var.dtype())) {
      return Refusal{kName,
                     "the product of the factors is too large for {loop0}, which counts in {text0}",
                     {loop.id},
                     {},
                     {loop.var.dtype().ToString()}};
    }
    complete.push_back(factors[i] ? CastTo(loop.var.dtype(), factors[i]) : Expr());
    if (!factors[i]) {
      if (absent >= 0) return Refusal{kName, "more than one factor of {loop0} is to be inferred", {loop.id}};
      absent = static_cast<int>(i);
      continue;
    }
    if (!analyzer.CanProve(complete[i] > 0)) {
      return Refusal{kName, "factor {expr0} of {loop0} is not known to be positive", {loop.id}, {factors[i]}};
    }
    product = product * complete[i];
  }
  if (!ProductFits(loop.var.dtype(), Given(complete))) {
    return Refusal{kName,
                   "the product of the factors is too large for {loop0}, which counts in {text0}",
                   {loop.id},
                   {},
                   {loop.var.dtype().ToString()}};
  }
  product = analyzer.Simplify(product);
  if (absent >= 0) {
    complete[absent] = analyzer.Simplify(FloorDiv(loop.extent + product - 1, product));
  } else if (!analyzer.CanProve(product >= loop.extent)) {
    return Refusal{kName,
                   "the product {expr0} of the factors is not known to reach the extent {expr1} of {loop0}{text0}",
                   {loop.id},
                   {product, loop.extent},
                   {FactorsThatDivide(loop.extent, product)}};
  }
  return complete;
}

}  // namespace

Outcome<SplitResult> Split(const Function& function, uint32_t loop_id, const std::vector<Expr>& factors,
                           const SplitOptions& options) {
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, loop_id));
  const ForNode& loop = *cast<ForNode>(path.back());
  if (auto refusal = WhyNotReplaceable(kName, loop)) return *refusal;
  const std::vector<const ForNode*> above = LoopsAbove(path);
  arith::Analyzer analyzer;
  BindLoops(analyzer, above);
  TW_ASSIGN_OR_RETURN(std::vector<Expr> extents, CompleteFactors(analyzer, loop, factors));

  SplitResult result;
  uint32_t next_id = function->next_id;
  std::vector<ForNode::Fields> loops;
  Expr index;
  for (size_t i = 0; i < extents.size(); ++i) {
    ForNode::Fields fields;
    fields.id = next_id++;
    fields.var = Var(loop.var.name() + "_" + std::to_string(i), loop.var.dtype());
    fields.extent = extents[i];
    BindLoop(analyzer, fields.var, Expr(0), fields.extent);
    if (index && !IsInt(fields.extent, 1)) index = index * fields.extent;
    index = index ? index + fields.var : fields.var;
    result.loops.push_back(fields.id);
    loops.push_back(std::move(fields));
  }

  Stmt body = ReplaceLoopVars(loop.body, {{loop.var, index}});
  const Expr inside = index < loop.extent;
  if (!options.disable_predication && !analyzer.CanProve(inside)) body = AddPredicateBelow(body, inside);
  const Stmt nest = SimplifyNest(Nest(std::move(loops), body), above, options.preserve_unit_iters);
  result.function = ReplaceIn(function, &loop, nest, next_id);
  return result;
}

}  // namespace tilewright
