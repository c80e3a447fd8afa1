// Factors that are zero unless conditions hold.
//
//   T.if_then_else(a and b, T.Cast("float32", T.if_then_else(c, X[i], 0)), 0)
//
// is Cast("float32", X[i]) under the conditions a, b and c.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tilewright {

// The factor without the conditions outside of which it is zero; they are appended to `conditions`, outer ones first.
Expr WithoutConditions(const Expr& factor, std::vector<Expr>* conditions);

// All of them, or null without any.
Expr AllOf(const std::vector<Expr>& conditions);

}  // namespace tilewright
