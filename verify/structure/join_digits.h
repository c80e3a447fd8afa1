// Indices that are digits of one number, as the number:
//
//   m // 20, m % 20 // 5, m % 5     =>     m
//   m % 20 // 5, m % 5, j           =>     m % 20, j
//   m // 5 * 2 + p, m % 5           =>     m, p          where p is 0 or 1
//   m // (h * w), m // w % h, m % w =>     m             where h and w are not negative
//
// The number is the same exactly where all its digits are. What a number is made of may not be cut where its digits
// are: 16 * a + b by 5 and 20.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/expr.h"

namespace tilewright {

// `analyzer` knows the ranges of variables, and conditions under which the indices are taken.
std::vector<Expr> JoinDigits(const std::vector<Expr>& indices, arith::Analyzer* analyzer);

}  // namespace tilewright
