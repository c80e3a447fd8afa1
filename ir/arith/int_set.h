// Sets of integers that an expression takes while some variables run over their ranges.
//
//   // i in [0, 4), j in [0, 16)
//   EvalSet(i * 16 + j + n, {{i, {0, 4}}, {j, {0, 16}}}, &analyzer);      // [n, n + 63]
//   EvalSet(i * 4, ...);                                                   // [0, 12], stride 4
//
// A set is an interval with symbolic ends, possibly with a stride. Sets are what may be taken: the exact set is
// contained in them, so they bound from above. (What is surely taken is a question for iterator maps:
// ir/arith/region.h.)
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::arith {

struct IntSet {
  Expr min, max;       // both ends belong to the set; null: unbounded
  int64_t stride = 1;  // elements are min + k * stride; 0 when min and max are the same expression

  static IntSet Everything() { return {}; }
  static IntSet Point(const Expr& e) { return {e, e, 0}; }
  static IntSet FromRange(const Range& range);
  bool IsPoint() const { return stride == 0; }
  bool IsBounded() const { return min && max; }
  // [min, max - min + 1); only of bounded sets.
  Range ToRange(Analyzer* analyzer) const;
};

// The values of `e` while the variables of `relaxed` run over their ranges where `predicate` (null: always) holds. The
// other variables stay symbolic; the ends are simplified under what the analyzer knows and contain no relaxed variable.
IntSet EvalSet(const Expr& e, const Domain& relaxed, Analyzer* analyzer, const Expr& predicate = {});
// The union of the ranges [min, min + extent).
IntSet EvalSet(const Range& range, const Domain& relaxed, Analyzer* analyzer, const Expr& predicate = {});
std::vector<IntSet> EvalSet(const std::vector<Range>& region, const Domain& relaxed, Analyzer* analyzer,
                            const Expr& predicate = {});

// The least interval around both. Ends that cannot be compared become Min or Max of both.
IntSet Union(const IntSet& a, const IntSet& b, Analyzer* analyzer);
// At least the elements that both have; may be empty (max < min).
IntSet Intersect(const IntSet& a, const IntSet& b, Analyzer* analyzer);
// Whether every element of `inner` lies between the ends of `outer` (strides are not looked at).
bool CanProveContains(const IntSet& outer, const IntSet& inner, Analyzer* analyzer);

}  // namespace tilewright::arith
