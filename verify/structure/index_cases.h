// Indices that are one of two, and instances that never have the same indices.
//
//   O[v + 1 if v % 2 == 0 else v - 1]          v + 1 where v % 2 == 0, v - 1 elsewhere: no two instances write the same
//                                              element, since v + 1 = w - 1 makes w even where v is
//   O[v ^ 5]                                   another element for each v; below 8 * n where v is
//   A[v, w - 1] and A[v, w],                   never the same: w and w - 1 are not both even
//   both where w % 2 == 0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/expr.h"

namespace tilewright {

// The indices where the condition holds, and where it does not.
struct IndexCases {
  Expr condition;
  std::vector<Expr> where, elsewhere;
};

// By the first choice in the indices, a scalar select or an if_then_else. There are none where nothing is chosen, where
// very much is, and where the condition reads memory.
std::optional<IndexCases> CasesOf(const std::vector<Expr>& indices);

// The same index where the condition says what a digit of a variable is: v // 2 * 2 + 2 for v + 1 where v % 2 == 1.
Expr InDigits(const Expr& index, const Expr& condition);

// The number v of v ^ c, whose bits a fixed c flips.
Expr WithoutFlips(const Expr& index, const arith::Domain& iterators);
// v // 8 * 8 + (v % 8 ^ 5) for v ^ 5.
Expr FlipsInDigits(const Expr& index);

// The least and the greatest of an index's lanes, if known.
std::optional<std::pair<Expr, Expr>> LaneEnds(const Expr& index);

// Indices of an instance for which `condition` holds; null: of any.
struct GuardedIndices {
  std::vector<Expr> indices;
  Expr condition;
};

// Whether no instance has by `a` the indices that it or another one has by `b`. Instances differ in `iterators`, which
// have been bound in the analyzer.
bool AreNeverEqual(const GuardedIndices& a, const GuardedIndices& b, const arith::Domain& iterators,
                   arith::Analyzer* analyzer);

}  // namespace tilewright
