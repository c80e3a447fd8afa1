// Which arithmetic of signed integers wraps: that by which a statement updates an array.
//
//   C[vi] = C[vi] + A[vi, vk] * B[vk]        the sum wraps; a product that overflows is an error (docs/numerics.md)
//
// Why: primitives add the terms of a sum in another order, in parts and in registers. What is added up on the way then
// leaves the type where the program's own order does not. Sums and products that wrap end with the same bits in any
// order.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// All sums, differences and multiples by constants that the statement's value is made of, where an element of the array
// that it stores to is one of the terms: both of x + y + C[i], C[i] - x * 2; not x - C[i]. All products, where one is a
// factor: C[i] * x, not C[i] * x + y. Values that conditions choose count too, and converted ones, of memory in another
// type. Which element it is does not matter: a table may say it. Of a variable's statement: those in its value, where
// the stores behind it store the variable.
std::vector<const BinaryNode*> WrappingUpdates(const Stmt& s);

}  // namespace tilewright
