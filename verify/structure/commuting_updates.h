// Whether the instances of a reduction may update their element in any order.
//
//   C[vi] = C[vi] + A[vi, vk]                      a sum: they may
//   R[vi] = R[vi] * 2 + A[vi, vk]                  they may not: what is multiplied depends on what came before
//   J[vi] = vk                                     they may not: the last one counts
//   J[vi] = Select(V[vi] >= A[vi, vk], J[vi], vk)  they may not: of equal values the first one counts
//
// Known: sums (with terms that are subtracted), products, minima, maxima, conjunctions and disjunctions, logical and by
// bits, below conditions and in loops that do not depend on the element; multiply-add instructions; and what functions
// outside of the program do to what the block declares. Sums of floating-point numbers count: rounding may differ.
#pragma once

#include "ir/stmt.h"

namespace tilewright {

bool UpdatesCommute(const BlockNode& block);

}  // namespace tilewright
