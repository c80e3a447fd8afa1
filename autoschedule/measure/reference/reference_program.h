// The right result of a program, and how far from it a computed one may be: as a program.
//
//   def main(A: float32, B: float32, C: float32):          def main(A, B, C: float64, C_error: float64):
//     C[i, j] = C[i, j] + A[i, k] * B[k, j]          ->      C[i, j] = C[i, j] + float64(A[i, k]) * float64(B[k, j])
//                                                            C_error[i, j] = C_error[i, j] + <of one product>
//
// Every floating-point value becomes one of double precision, beside which runs a bound on the absolute error that the
// original program, or any schedule of it, may make: each operation adds what rounding its result can do to what the
// errors of its operands can do. A sum of K terms may be computed in any order. Each order makes at most K roundings of
// partial sums that are no greater than the sum of the absolute values, so each term x adds c * |x| with
//
//     c = min(K + 2, 8 sqrt(K + 2)) * u,        u: half a unit in the last place of the type
//
// and where the sum does not start at zero, what was there counts as one more.
//
// The first form holds for any rounding errors, the second for K independent ones with a probability that lets no
// wrong alarm happen in practice; it is what finds one product that is missing out of thousands. (Higham, Accuracy
// and Stability of Numerical Algorithms, chapters 3 and 4.) Comparisons and roundings to integers whose operands are
// too close to tell allow both outcomes. Integers that depend on no floating-point value are exact.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "ir/substitute.h"

namespace tilewright {

struct ReferenceProgram {
  // The loops of blocks are reordered and made parallel where that is a plain matter, since it is to run fast.
  Function function;
  // For each parameter of the original: the position of the parameter with its value, and of the one with the bound;
  // -1: exact, or only read.
  std::vector<int> value, error;
  std::vector<bool> written;  // by the original
};

// `extents`: values of variables that the numbers of terms depend on; a sum of an unknown number is taken to have 2^20.
// An error names what has no bound: a call of another library's function, an element of a view, a vector operation.
absl::StatusOr<ReferenceProgram> MakeReferenceProgram(const Function& main, const VarMap& extents = {});

// Whether a statement of the function stores to each parameter.
std::vector<bool> WrittenParams(const Function& function);

}  // namespace tilewright
