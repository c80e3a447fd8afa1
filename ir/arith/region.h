// Regions of buffers under relaxed variables: what may be touched, and what is surely covered.
//
//   // for i in range(4): touches A[i * 16 : i * 16 + 16]
//   MayTouch({{i * 16, 16}}, {{i, {0, 4}}}, {}, &analyzer)    // A[0:64]
//   MustCover(...)                                             // A[0:64]: every element, without gaps
//   // for i in range(4): touches A[i * 32 : i * 32 + 16]
//   MustCover(...)                                             // nothing: there are gaps
//
// A consumer is fed when what its producers must cover contains what it may touch (Covers).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/buffer.h"

namespace tilewright::arith {

using Region = std::vector<Range>;

// A box that contains every element that is touched while the variables of `relaxed` run over their ranges where
// `predicate` holds. Nothing when a dimension is unbounded.
std::optional<Region> MayTouch(const Region& region, const Domain& relaxed, const Expr& predicate, Analyzer* analyzer);

// A box of which every element is touched. Nothing when none was found: the region has gaps, its dimensions depend on
// each other, or it is not affine; or the predicate says something of other variables that is not known to hold.
std::optional<Region> MustCover(const Region& region, const Domain& relaxed, const Expr& predicate, Analyzer* analyzer);

// Whether every element of `needed` (clipped to `shape` when that is not empty) lies in `provided`. When it cannot be
// proven, `reason` (may be null) says which dimension and ends failed.
bool Covers(const Region& provided, const Region& needed, const std::vector<Expr>& shape, Analyzer* analyzer,
            std::string* reason = nullptr);

// The least box around both.
Region UnionRegions(const Region& a, const Region& b, Analyzer* analyzer);

}  // namespace tilewright::arith
