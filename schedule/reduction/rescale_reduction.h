// rescale_reduction: reductions that read the final value of another one read its running value instead, and rescale
// what they have summed up when that changes. All run in one loop: online softmax, online norms, attention.
//
//   for i, j_0, j_1 in T.grid(8, 4, 4):                 for i in range(8):
//       M[vi] = max(M[vi], X[vi, vj])                       M[vi] = -inf
//   for i, j_0, j_1 in T.grid(8, 4, 4):                     for j_0 in range(4):
//       S[vi] = S[vi] + exp(X[vi, vj] - M[vi])    ->            for j_1 in range(4):
//                                                                   M_rf[vi, vj_0] = max(M_rf[vi, vj_0], X[...])
//                                                               M_before[vi, vj_0] = M[vi]
//                                                               M[vi] = max(M[vi], M_rf[vi, vj_0])
//                                                               M_running[vi, vj_0] = M[vi]
//                                                               M_rescale[...] = exp(M_before[...] - M_running[...])
//                                                               for j_1 in range(4):
//                                                                   S_rf[vi, vj_0] += exp(X[...] - M_running[...])
//                                                               S[vi] = S[vi] * M_rescale[...] + S_rf[vi, vj_0]
//
// for the loops j_0 of M and of S.
//
// Why: what both reductions read is needed once, one part of it at a time; no row of scores is kept.
//
// How the sum is corrected is derived from the terms (schedule/algebra/value_factors.h): each must be a product g(x) *
// h(m), and the sum is multiplied by h(new) / h(old). A running value at which h cannot be inverted (exp(-m) at m =
// -inf, where all terms so far are masked) is replaced by a constant at which it can, M_reference, until the last
// iteration: that one takes the final value as it is, so that a row that is masked as a whole ends as it does in the
// program. The results are those of the program but for rounding (docs/numerics.md).
//
// Iterations in which a condition masks all terms are left out: with T.if_then_else(vj <= vi, X[vi, vj], -inf) in all
// of them the loop above has the extent min(4, i // 4 + 1) (schedule/reduction/idle_terms.h). A factor that is infinite
// or NaN has no effect where it is masked (docs/numerics.md).
//
// The loops after the first may be those of elementwise blocks too, before the reductions that read them: what such a
// block makes of the final value (a matrix of exponentials, which a sum and a product read) it makes of the running
// one.
//
// Conditions: the loops are in one scope, and hold one block each; they and the loops around them are serial, begin at
// 0, and have the same extents, pair by pair; rfactor takes the loops of reductions; these and loops inside of them
// carry the whole reduction; the first has one output, in float32 or float64. A reduction among the others is a sum
// that begins at zero, whose terms read that output at spatial iterators, the same in all terms, and have the form
// above, with a factor of constants and m; an exponent m - x (x - m) needs that the reduction is the minimum (maximum)
// of the same x: then no running term is greater than the final one by more than what is added to x. Elements that an
// iteration reads of m and of elementwise blocks are those of the same iteration. Nothing in between writes what the
// others read, or reads what they write; an elementwise block's output is read by the others alone, and is the
// scope's.
//
// Ids: those of the reductions survive, the first one's as of the block that updates its running value, others' as of
// blocks that combine the parts, with the first loop and those around it; blocks of parts (returned, that of the first
// loop first) and all others are born.
// rescale_parts: the same for parts that do not follow each other, which may run at once. Each has its own reference,
// and sums of parts are corrected by the final value:
//
//   for i, j_0 in T.grid(8, 4):                              for the same program
//       for j_1 in range(4): M_rf[vi, vj_0] = max(M_rf[vi, vj_0], X[...])
//       M_reference[vi, vj_0] = M_rf[vi, vj_0]
//       for j_1 in range(4): S_rf[vi, vj_0] += exp(X[...] - M_reference[...])
//   for i, j_0 in T.grid(8, 4): M[vi] = max(M[vi], M_rf[vi, vj_0])
//   for i, j_0 in T.grid(8, 4): M_rescale[vi, vj_0] = exp(M_reference[...] - M[vi])
//   for i, j_0 in T.grid(8, 4): S[vi] += S_rf[vi, vj_0] * M_rescale[vi, vj_0]
//
// Parts are added up in the order of the loop, whoever computes them. Conditions are those of rescale_reduction; no
// iteration is left out. Where the factor cannot be inverted at the final value, a sum is what the factor makes of one
// with another reference: of a row that is masked as a whole, no number. All of the reductions' loops survive with what
// combines parts; those of the first nest are born.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct RescaleReductionResult {
  Function function;
  std::vector<uint32_t> parts;
};

// The loop of the reduction that the others read comes first. `skip_leading`: iterations before the first term that no
// condition masks are left out too; the sums are begun by blocks of their own then.
Outcome<RescaleReductionResult> RescaleReduction(const Function& function, const std::vector<uint32_t>& loops,
                                                 bool skip_leading = true);

// `parts`: blocks of parts, then those that compute corrections.
Outcome<RescaleReductionResult> RescaleParts(const Function& function, const std::vector<uint32_t>& loops);

}  // namespace tilewright
