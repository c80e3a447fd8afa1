// Which of a block's instances its loops run.
//
//   for i_0, i_1 in T.grid(4, 16):          vi = i_0 * 16 + i_1 takes all values of [0, 60),
//       vi = i_0 * 16 + i_1                 and stays there where the predicate holds
//       T.where(i_0 * 16 + i_1 < 60)
//
// Each answer is false when it is not known. `analyzer` knows the variables around the loops.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

// Whether the predicate says nothing but that the iterators are inside of their domains.
bool PredicateOnlyGuardsDomains(const BlockRealizeNode& realize, arith::Analyzer* analyzer);

// Whether the instances of the block, over `loops`, are all those that its iterators' domains allow.
bool RunsAllInstances(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                      arith::Analyzer* analyzer);

// Whether no two iterations of the loops run the same instance.
bool RunsEachInstanceOnce(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                          arith::Analyzer* analyzer);

// Whether all instances of the block together write (or read) every element of `box`, where one instance touches
// `region`.
bool TouchesAllOf(const BlockNode& block, const std::vector<Range>& region, const std::vector<Range>& box,
                  arith::Analyzer* analyzer);

// Whether all of a child of the scope has run before the loop, an outermost one of the scope, begins.
bool IsDoneBefore(const BlockScope& scope, const ScopeChild& child, const ForNode& loop);

// The block's predicate in terms of its iterators; null when it uses loops that no iterator is.
Expr OfIterators(const ScopeChild& child);

// Whether all elements of the buffer have values before the child of the scope runs: it is a parameter, or one of the
// blocks before, in the scope, writes all of it.
bool HasValuesBefore(const Function& function, const BlockScope& scope, const ScopeChild& child, const Buffer& buffer);

// Whether the block writes every element of `part` while `loops` run, as far as `part` lies in `box`: all that it
// writes in all iterations of the loops around them, too. `written` is what one instance writes.
bool WritesAllOfPart(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                     const std::vector<Range>& written, const std::vector<Range>& part, const std::vector<Range>& box,
                     arith::Analyzer* analyzer);

}  // namespace tilewright
