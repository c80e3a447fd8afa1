// How many iterations of a vectorized loop become one vector.
//
//   for i in T.vectorized(32):                      registers of 8 floats
//       B[i] = A[i] + T.float32(1)                  B[0:8] = A[0:8] + ..., four times
//       B[i] = T.tanh(A[i])                         B[0:32] = T.tanh(A[0:32])
//
// What code generation computes by polynomials is a long chain of operations that wait for each other. Several vectors
// in one statement take each step of it together; one after the other, they are further apart than a core looks ahead.
#pragma once

#include <cstdint>

#include "ir/stmt.h"

namespace tilewright {

struct VectorWidth {
  int64_t native = 1;  // elements of a register
  int64_t most = 1;    // of one statement, where that many are left
};

VectorWidth VectorWidthOf(const Stmt& body, int vector_bits);

// Whether all vectors that the statement loads and stores are elements that follow each other.
bool MovesRuns(const Stmt& vectors);

}  // namespace tilewright
