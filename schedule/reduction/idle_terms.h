// Iterations of the loop that a chain of reductions shares in which a condition masks all terms: they change nothing,
// and the loop begins behind them, or ends before them.
//
//   X[vi, vj] = T.if_then_else(                                  for blocks of 4 rows (i_0) and 8 elements (j_0):
//       vj <= vi and vi - vj < 32, P[vi, vj], -inf)                begin  max((i_0 * 4 - 31) // 8, 0)
//   M[vi] = T.max(M[vi], X[vi, vj])                                end    (i_0 * 4 + 3) // 8 + 1
//   S[vi] = S[vi] + T.exp(X[vi, vj] - M[vi])                       last   vi // 8
//
// Nothing is known of masks but what the terms say: a condition that is linear in the iterators decides them, and with
// its value the terms of the first reduction are what changes no maximum, minimum or sum, and those of the others are
// zero, whatever the running value is (a finite one: rescale_reduction sees to that).
#pragma once

#include <optional>

#include "ir/function.h"
#include "schedule/reduction/online_chain.h"

namespace tilewright {

// `begin` and `end` are in terms of the loops around the first reduction's, `last` of its iterators.
struct IdleTerms {
  Expr begin;  // the first iteration that may have terms, less than `end` and than the loop's extent; null: 0
  Expr end;    // the first iteration without terms behind it, at least 1; null: the loop's extent
  Expr last;   // the last iteration that may have terms of a row, `begin` at least; null where `end` is
};

// Nothing where no condition masks all terms of an iteration.
std::optional<IdleTerms> FindIdleTerms(const Function& function, const OnlineChain& chain);

}  // namespace tilewright
