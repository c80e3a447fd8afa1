// Index expressions as sums over loops, for counting: what an index depends on, how far it moves, how many values it
// takes.
//
//   for f in range(32):                 # loop 0
//       for j in range(16):             # loop 1
//           A[f // 8, f % 8 * 16 + j]   # { 1 * (f // 8 % 4) },  { 16 * (f % 8) + 1 * j }
//
// A term is scale * (loop // lower % extent). Where an expression has no such form (divisions that do not come out
// even, values read from memory) the nearest one is taken and `exact` is false: costs are estimates, so no refusal is
// needed.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/container/inlined_vector.h"
#include "ir/expr.h"

namespace tilewright {

struct IndexTerm {
  int loop = 0;  // numbered by whoever builds the form
  int64_t lower = 1;
  int64_t extent = 1;  // at least 1
  int64_t scale = 1;
};

struct IndexForm {
  absl::InlinedVector<IndexTerm, 4> terms;
  int64_t base = 0;
  bool exact = true;

  int64_t Min() const;
  int64_t Max() const;
};

IndexForm Add(IndexForm a, const IndexForm& b);
IndexForm Scale(IndexForm a, int64_t factor);
IndexForm FloorDiv(const IndexForm& a, int64_t divisor);
IndexForm FloorMod(const IndexForm& a, int64_t divisor);

// The form of an integer expression; `lookup` gives that of a variable, or null for one of unknown value (taken as 0).
IndexForm ToIndexForm(const Expr& e, const std::function<const IndexForm*(const VarNode*)>& lookup);

// The part of all iterations (terms taken as independent of each other) in which the form is not negative.
double ShareNotNegative(const IndexForm& form);
// The part in which a condition holds: comparisons of index expressions, joined by and, or, not. What is not understood
// counts as true.
double ShareTrue(const Expr& condition, const std::function<const IndexForm*(const VarNode*)>& lookup);

}  // namespace tilewright
