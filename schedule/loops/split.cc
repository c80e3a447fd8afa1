#include "schedule/loops/split.h"

#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_nest.h"

namespace tilewright {
namespace {

constexpr const char* kName = "split";

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
                   "the product {expr0} of the factors is not known to reach the extent {expr1} of {loop0}",
                   {loop.id},
                   {product, loop.extent}};
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
