// How much there is to do in a statement, in numbers of executed statements, as an expression of sizes.
//
//   for i in T.parallel(n):                          StatementIterations = n * (64 + m)
//       for j in range(64): B[i, j] = A[i, j]
//       for j in range(m): D[i, j] = C[i, j]
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "ir/stmt.h"

namespace tilewright {

// How often stores and calls in `stmt` are executed, both branches of conditions counted: an expression of 64 bits over
// variables that are defined outside of `stmt`. A loop whose extent depends on a variable inside counts once.
Expr StatementIterations(const Stmt& stmt);

// How long a program is: its statements and expressions, each as often as it is written.
int64_t CountNodes(const Stmt& body);
int64_t CountNodes(const Function& function);
int64_t CountNodes(const Module& module);

// How many nodes visitors and mutators of this thread have been given so far: the work of passes, in numbers that a
// busy machine does not change.
int64_t NodesVisited();

}  // namespace tilewright
