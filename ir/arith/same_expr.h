// Structural identity of expressions within one program, fast: no renaming, and common kinds only. Two calls that have
// effects are never the same.
#pragma once

#include <cstdint>

#include "ir/expr.h"

namespace tilewright::arith {

bool SameExpr(const Expr& a, const Expr& b);

// A number that expressions have in common which SameExpr calls the same; most others differ in it. Looks at the few
// levels below the top, so that it costs little whatever the expression.
uint64_t Outline(const Expr& e);

// Whether evaluating `e` reads memory or calls something that is not pure: such an expression is not to be evaluated
// twice where it was evaluated once.
bool ReadsMemory(const Expr& e);
// Whether dropping `e` could change what the program does: it calls something with effects.
bool HasEffect(const Expr& e);

// Whether `e` has a value for all values of its variables: no memory is read, nothing is called, and divisors are
// constants other than zero.
bool IsTotal(const Expr& e);

}  // namespace tilewright::arith
