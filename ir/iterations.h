// How much there is to do in a statement, in numbers of executed statements, as an expression of sizes.
//
//   for i in T.parallel(n):                          StatementIterations = n * (64 + m)
//       for j in range(64): B[i, j] = A[i, j]
//       for j in range(m): D[i, j] = C[i, j]
#pragma once

#include "ir/stmt.h"

namespace tilewright {

// How often stores and calls in `stmt` are executed, both branches of conditions counted: an expression of 64 bits over
// variables that are defined outside of `stmt`. A loop whose extent depends on a variable inside counts once.
Expr StatementIterations(const Stmt& stmt);

}  // namespace tilewright
