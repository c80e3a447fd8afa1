#include "codegen/lower/cpu/edge_tile.h"

#include <algorithm>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/linear.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// An extent as the number of tiles that cover a size.
bool Covers(const Expr& extent, const Expr& size, int64_t coefficient) {
  const Expr step = Const(size.dtype(), coefficient);
  const Expr tiles = FloorDiv(size + (step - Const(step.dtype(), 1)), step);
  arith::Analyzer analyzer;
  return IsInt(analyzer.Simplify(CastTo(tiles.dtype(), extent) - tiles), 0);
}

// The size, among those in conditions, that the loop covers with tiles, and the rows per tile. If no condition has such
// a size, the loop is over single rows.
std::pair<Expr, int64_t> CoveredSize(const std::vector<EdgeCondition>& conditions, const Expr& extent) {
  std::pair<Expr, int64_t> covered = {extent, 0};
  for (const EdgeCondition& condition : conditions) {
    const int64_t rows = condition.coefficient;
    if (!condition.at_end() || (covered.second != 0 && covered.second <= rows)) continue;
    if (rows == 1) return {CastTo(condition.size.dtype(), extent), 1};
    if (Covers(extent, condition.size, rows)) covered = {condition.size, rows};
  }
  return covered.second == 0 ? std::pair<Expr, int64_t>(extent, 1) : covered;
}

// `scale` times the size. 2 * (x // 2) is written as x - x % 2, whose bounds are known.
Expr Times(const Expr& size, int64_t scale) {
  const Expr times = size * Const(size.dtype(), scale);
  Expr quotient;
  PreOrder(size, [&](const Expr& e) {
    const auto* op = dyn_cast<BinaryNode>(e);
    if (!quotient && op != nullptr && op->op == BinaryOp::kFloorDiv && AsInt(op->b).value_or(0) > 0) quotient = e;
    return !quotient;
  });
  if (!quotient) return times;
  const Var name("quotient", quotient.dtype());
  const Expr named = RewriteExpr(size, [&](const Expr& e) { return e.same_as(quotient) ? Expr(name) : e; });
  arith::Analyzer analyzer;
  const auto linear = arith::DetectLinear(named, {name}, &analyzer);
  const auto coefficient = linear ? AsInt(linear->coefficients[0]) : std::nullopt;
  const auto* division = cast<BinaryNode>(quotient);
  const int64_t divisor = *AsInt(division->b);
  if (!coefficient || *coefficient * scale % divisor != 0 || UsesVar(linear->base, name)) return times;
  const DataType type = size.dtype();
  const Expr multiple = CastTo(type, division->a - FloorMod(division->a, division->b));
  return linear->base * Const(type, scale) + multiple * Const(type, *coefficient * scale / divisor);
}

// Nothing if the condition's size is not a multiple of `size` plus a bounded remainder.
std::optional<SizeOfCondition> SizeOf(const EdgeCondition& condition, const Expr& size, int64_t coefficient) {
  if (condition.coefficient % coefficient != 0) return std::nullopt;
  SizeOfCondition found{.scale = condition.coefficient / coefficient};
  const DataType type = condition.size.dtype();
  arith::Analyzer analyzer;
  found.more = analyzer.Simplify(condition.size - Times(CastTo(type, size), found.scale));
  const arith::Bounds bounds = analyzer.ConstBounds(found.more);
  if (!bounds.IsFinite() || bounds.max - bounds.min >= found.scale) return std::nullopt;
  found.least = bounds.min;
  return found;
}

// Most iterations at the end that are written one by one.
constexpr int64_t kMostAtEnd = 2;

}  // namespace

std::optional<Tile> TileOf(const std::vector<EdgeCondition>& conditions, const Expr& extent) {
  if (std::ranges::none_of(conditions, &EdgeCondition::at_end)) return std::nullopt;
  const auto [size, coefficient] = CoveredSize(conditions, extent);
  Tile tile{.size = size, .coefficient = coefficient, .whole = -1};
  arith::Analyzer analyzer;
  for (const EdgeCondition& condition : conditions) {
    tile.unrolled &= condition.unrolled;
    if (!condition.at_end()) {
      tile.begin = std::max(tile.begin, *AsInt(analyzer.Simplify(condition.Iterations(condition.least))));
      tile.sizes.emplace_back();
      continue;
    }
    std::optional<SizeOfCondition> found = SizeOf(condition, size, coefficient);
    if (!found) return std::nullopt;
    tile.whole = std::min(tile.whole, arith::FloorDivInt(found->least - condition.greatest - 1, condition.coefficient));
    tile.sizes.push_back(*std::move(found));
  }
  if (tile.whole < -kMostAtEnd) return std::nullopt;
  return tile;
}

}  // namespace tilewright
