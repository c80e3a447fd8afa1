// skip_zero_terms: leaves out the terms of a sum that a condition makes zero, by giving a reduce iterator the one value
// at which the condition holds.
//
//   for h1, r0, r1 in T.grid(2, 2, 2):                     for h1, r0 in T.grid(2, 2):
//       with T.block("Y"):                                     with T.block("Y"):
//           Y[vh1] = Y[vh1] + T.if_then_else(                      Y[vh1] = Y[vh1] + X[vr0 + (vh1 + (vh1 + 1) % 2
//               (vh1 + vr1 + 1) % 2 == 0,               ->             + 1) // 2] * W[vr0 * 2 + (vh1 + 1) % 2]
//               X[vr0 + (vh1 + vr1 + 1) // 2], 0)
//               * W[vr0 * 2 + vr1]
//
// Why: a transposed convolution as a convolution of an input with zeros between its elements multiplies by zero most of
// the time. transform_block_layout brings its iterators into the form above (vr1 runs over one period of the
// condition); what is left is a plain product of two operands, with vh1 as a batch.
//
// A weight that is infinite or NaN then has no effect where it meets a zero (docs/numerics.md).
//
// Conditions: the block adds an if_then_else (or a cast of one, or one in the other) to its output, or a product with
// such a factor, which gives zero unless some `e % s == 0` hold, with constants s, and perhaps other conditions, which
// stay. Each e is c * r, with a constant c and a reduce iterator r of the domain [0, s / g), where g is the greatest
// common divisor of c and s, plus terms without reduce iterators, or with multiples of s of them. The block's loops are
// its iterators, one each, hold nothing else, are serial and carry no annotations, and it has no predicate.
//
// A block in which no reduce iterator stays has no init afterwards: it stores its term on top of what the init stores.
//
// The block keeps its id, and so do the loops that stay; those of the iterators that have one value now are gone.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct SkipZeroTermsResult {
  Function function;
};

Outcome<SkipZeroTermsResult> SkipZeroTerms(const Function& function, uint32_t block);

}  // namespace tilewright
