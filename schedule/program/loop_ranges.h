// The ranges of loops and iterators: told to an analyzer, or as the domain of an iterator map.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/stmt.h"

namespace tilewright {

// Tells the analyzer the ranges of the loops' variables. Loops of extent 1 are left unknown with
// `preserve_unit_iters`, so that simplification keeps their variables.
void BindLoops(arith::Analyzer& analyzer, const std::vector<const ForNode*>& loops, bool preserve_unit_iters = false);
void BindLoop(arith::Analyzer& analyzer, const Var& var, const Expr& min, const Expr& extent,
              bool preserve_unit_iters = false);

// Whether a condition holds in every iteration of the loops in which those of `at_start`, some of them, are in their
// first one.
bool HoldsAtStart(const Expr& condition, const std::vector<const ForNode*>& loops,
                  const std::vector<const ForNode*>& at_start);

// Whether the predicate of a block in `loops` leaves out instances of its reduction alone: where the loops that feed
// only the reduction are at their start, and the init runs, it holds for all others. Then all that the block writes is
// written. `below`: the loops that may be at their start.
bool PredicateHoldsAtStart(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                           const std::vector<const ForNode*>& below);

arith::Domain DomainOf(const std::vector<const ForNode*>& loops);
arith::Domain DomainOf(const BlockNode& block);  // its iterators

}  // namespace tilewright
