// Calls of vectors as expressions of their lanes. CUDA C++ has no vectors, so that each lane is a scalar expression:
//
//   T.dot_add(c[0:2], a[0:4], b[0:4])    ->   c0 + a0 * b0 + a1 * b1,  c1 + a2 * b2 + a3 * b3
//   T.lookup(table[0:4], i[0:2])         ->   a choice among table0, ..., table3 by i0 & 3, and by i1 & 3
//   T.reinterpret("uint32", x[0:4])      ->   x0 | x1 << 8 | x2 << 16 | x3 << 24, where x holds bytes
#pragma once

#include <cstddef>
#include <vector>

#include "ir/expr.h"

namespace tilewright::cuda {

using ExprLanes = std::vector<Expr>;

// Each sum with the products of as many neighbouring terms as there are for it. The type is that of a sum.
ExprLanes DotLanes(DataType type, const ExprLanes& sums, const ExprLanes& a, const ExprLanes& b);

// The entries of a table at the numbers, which wrap: the table's length is a power of two.
ExprLanes LookupLanes(const ExprLanes& table, const ExprLanes& numbers);

// The bits of all lanes, the lowest first, as `count` values of another type. Both types have whole bytes.
ExprLanes ReinterpretLanes(DataType type, size_t count, const ExprLanes& lanes);

}  // namespace tilewright::cuda
