#include "ir/arith/region.h"

#include "ir/arith/expr_text.h"
#include "ir/arith/int_set.h"
#include "ir/arith/iter_map.h"

namespace tilewright::arith {
namespace {

Expr End(const Range& range) { return range.min + range.extent; }

}  // namespace

std::optional<Region> MayTouch(const Region& region, const Domain& relaxed, const Expr& predicate, Analyzer* analyzer) {
  Region result;
  for (const IntSet& set : EvalSet(region, relaxed, analyzer, predicate)) {
    if (!set.IsBounded()) return std::nullopt;
    result.push_back(set.ToRange(analyzer));
  }
  return result;
}

std::optional<Region> MustCover(const Region& region, const Domain& relaxed, const Expr& predicate,
                                Analyzer* analyzer) {
  std::vector<Expr> starts;
  for (const Range& range : region) starts.push_back(range.min);
  auto map = DetectIterMap(starts, relaxed, predicate, IterMapLevel::kSurjective, analyzer);
  if (!map) return std::nullopt;
  Region result;
  for (size_t i = 0; i < region.size(); ++i) {
    const IterSum& sum = map->indices[i];
    DataType dtype = starts[i].dtype();
    if (sum.args.empty()) {
      result.push_back({sum.base, region[i].extent});
      continue;
    }
    // Steps of `step` with windows of `extent`: without gaps when the window is as long as a step.
    Expr step = sum.args.back().scale.ToExpr(dtype);
    if (!analyzer->CanProveLessEqual(step, region[i].extent)) return std::nullopt;
    Expr steps = map->extents[i].ToExpr(dtype);
    result.push_back({sum.base, analyzer->Simplify((steps - 1) * step + region[i].extent)});
  }
  return result;
}

bool Covers(const Region& provided, const Region& needed, const std::vector<Expr>& shape, Analyzer* analyzer,
            std::string* reason) {
  auto fail = [&](size_t dimension, const char* what, const Expr& a, const Expr& b) {
    if (reason != nullptr) {
      *reason = "dimension " + std::to_string(dimension) + ": " + what + " " + ToText(analyzer->Simplify(a)) +
                " is provided, " + ToText(analyzer->Simplify(b)) + " is needed";
    }
    return false;
  };
  for (size_t i = 0; i < provided.size(); ++i) {
    Expr first = needed[i].min, end = End(needed[i]);
    if (!shape.empty()) {
      first = Max(first, Const(first.dtype(), 0));
      end = Min(end, shape[i]);
    }
    if (!analyzer->CanProveLessEqual(provided[i].min, first)) return fail(i, "from", provided[i].min, first);
    if (!analyzer->CanProveLessEqual(end, End(provided[i]))) return fail(i, "to", End(provided[i]), end);
  }
  return true;
}

Region UnionRegions(const Region& a, const Region& b, Analyzer* analyzer) {
  Region result;
  for (size_t i = 0; i < a.size(); ++i) {
    Expr min = analyzer->Simplify(Min(a[i].min, b[i].min));
    Expr end = analyzer->Simplify(Max(End(a[i]), End(b[i])));
    result.push_back({min, analyzer->Simplify(end - min)});
  }
  return result;
}

}  // namespace tilewright::arith
