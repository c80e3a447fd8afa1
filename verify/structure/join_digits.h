// Indices that are digits of one number, as the number:
//
//   m // 20, m % 20 // 5, m % 5     =>     m
//   m % 20 // 5, m % 5, j           =>     m % 20, j
//
// The number is the same exactly where all its digits are. What a number is made of may not be cut where its digits
// are: 16 * a + b by 5 and 20.
#pragma once

#include <vector>

#include "ir/expr.h"

namespace tilewright {

std::vector<Expr> JoinDigits(std::vector<Expr> indices);

}  // namespace tilewright
