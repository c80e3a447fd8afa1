// Lanes of vector registers that a condition leaves out everywhere.
//
//   for c in T.vectorized(16): if c_0 * 16 + c < 24: R[c] = T.float32(0)
//   for c in T.vectorized(16): if c_0 * 16 + c < 24: R[c] = R[c] + A[c_0 * 16 + c]
//   for c in T.vectorized(16): if c_0 * 16 + c < 24: B[c_0 * 16 + c] = R[c]
//
// Whatever the lanes of R hold for which the condition does not hold, nothing else depends on it: R can be written
// without the condition.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

// Whether each access of the flat buffer in `body` is one of vectors under the same condition on their lanes, so that
// no lane without work is used by one with work.
bool HasIdleLanes(const Buffer& buffer, const Stmt& body, arith::Analyzer* analyzer);

}  // namespace tilewright
