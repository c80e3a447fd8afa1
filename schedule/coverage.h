// Whether expressions over loops take all values of a box.
//
//   for i_0, i_1 in T.grid(4, 16):          vi = i_0 * 16 + i_1 takes all values of [0, 60),
//       vi = i_0 * 16 + i_1                 and stays there where the predicate holds
//       T.where(i_0 * 16 + i_1 < 60)
//
// Data-moving primitives need it in two forms: a block's instances are all run (its iterators take all their values),
// and a block writes all of a box (a copy of the box then moves no element that has no value).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

// A variable and the range it runs over.
struct RangedVar {
  Var var;
  Range range;
};
std::vector<RangedVar> RangedVars(const std::vector<const ForNode*>& loops);
std::vector<RangedVar> RangedVars(const BlockNode& block);  // its iterators

// coefficient * var, where both are known.
struct LinearTerm {
  Var var;
  int64_t coefficient;
};
// `e` as constant coefficients of `vars` (those that occur) and the rest, which mentions none of them; nothing when it
// is not linear in them.
struct LinearTerms {
  std::vector<LinearTerm> terms;
  Expr rest;
};
std::optional<LinearTerms> DetectLinearTerms(const Expr& e, const std::vector<RangedVar>& vars,
                                             arith::Analyzer* analyzer);

// Whether the tuples [min_0, min_0 + extent_0) x ... over all values of `vars` cover `box`. False when it is not known.
bool Covers(const std::vector<Range>& tuples, const std::vector<RangedVar>& vars, const std::vector<Range>& box,
            arith::Analyzer* analyzer);

// Whether the instances of the block, over `loops`, are all those that its iterators' domains allow. `analyzer` knows
// the variables around the loops.
bool RunsAllInstances(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                      arith::Analyzer* analyzer);
// Whether no two iterations of the loops run the same instance. False when it is not known.
bool RunsEachInstanceOnce(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                          arith::Analyzer* analyzer);
// Whether the predicate says nothing but that the iterators are inside of their domains.
bool PredicateOnlyGuardsDomains(const BlockRealizeNode& realize, arith::Analyzer* analyzer);

}  // namespace tilewright
