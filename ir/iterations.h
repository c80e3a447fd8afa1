// How much there is to do in a statement, in numbers of executed statements, as an expression of sizes.
//
//   for i in T.parallel(n):                          StatementIterations = n * (64 + m)
//       for j in range(64): B[i, j] = A[i, j]
//       for j in range(m): D[i, j] = C[i, j]
#pragma once

#include "ir/stmt.h"

namespace tilewright {

// An annotation of parallel loops: from so many statements on, counted by StatementIterations, threads share the loop's
// iterations; where sizes give it less to do, one thread runs all of them. Written by the rules; read by lowering and
// code generation of CPUs.
inline constexpr char kThreadsFrom[] = "tilewright.threads_from";

// How often stores and calls in `stmt` are executed, both branches of conditions counted: an expression of 64 bits over
// variables that are defined outside of `stmt`. A loop whose extent depends on a variable inside counts once.
Expr StatementIterations(const Stmt& stmt);

}  // namespace tilewright
