// Calls that are short for an expression, which every engine computes in their place.
//
//   q_multiply_shift(x, y, q, s)    ->    int32((int64(x) << max(s, 0)) * int64(y) + half >> q + max(-s, 0))
//
// A multiplication of fixed-point numbers, y with q bits behind the point, shifted by s to the left (to the right where
// s is negative) and rounded to nearest, halves up. q_multiply_shift_per_axis(x, y, left, right, q, shifts_left,
// shifts_right) gives the two shifts apart. The meaning is the peer's (TVM, tir.q_multiply_shift).
//
//   tvm_thread_invariant(x), ignore_loop_partition(x)    ->    x
//
// What programs say of an expression to passes of the peer's.
//
//   lookup(table, i)    ->    T.Select(i & n - 1 == 1, table[1], T.Select(... table[0])), n the table's lanes
//
// Engines that have an instruction for it do not ask.
#pragma once

#include "ir/expr.h"

namespace tilewright {

// Null where `call` is no such call, or has operands of other types: 32-bit integers to be multiplied, a table of 2^k
// lanes of the result's elements.
Expr ExpandCall(const CallNode* call);

}  // namespace tilewright
