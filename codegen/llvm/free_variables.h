// What a statement that becomes a function of its own has to be given, and which statements can share one.
//
//   for i, j: T1[i, j] = T0[i, j] * W[i]      alike: one function, called with (T1, T0, W) and with (T2, T1, V)
//   for i, j: T2[i, j] = T1[i, j] * V[i]
#pragma once

#include <cstdint>
#include <vector>

#include "ir/stmt.h"

namespace tilewright::codegen {

// Variables and data pointers that a statement uses but does not define, in the order of their first use.
std::vector<const VarNode*> FreeVariables(const Stmt& s);

// For each statement a number that those like it have, too: equal up to the variables and the memory that they are
// given. Nothing (0) where no other one has it, where a call would be longer than the statement, or where that has
// fewer than `least_nodes`. Others may have the same number: StructuralEqual tells them apart.
std::vector<uint64_t> AlikeStatements(const std::vector<Stmt>& stmts, int64_t least_nodes = 0);

}  // namespace tilewright::codegen
