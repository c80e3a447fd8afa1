// Phases of transposed convolutions with few output channels, as further columns of one product.
//
//   Y[h * 2 + p, w * 2 + q, o] += X[h + p + r, w + q + s] * W[p, q, r, s, o]        with o in [0, 3), r, s in [0, 2)
//
//   Y[h * 2 + v // 6, w * 2 + v % 6 // 3, v % 3] += X[h + r, w + s] * W_factors[v, r, s]
//                                                                             with v in [0, 12), r, s in [0, 3)
//
// A tile computes whole vectors of columns: 4 products of 2 x 2 x 16 for the four phases of a 3-channel output, with
// all phases in one 3 x 3 x 16. The weights of the latter are zero where a phase does not reach
// (schedule/algebra/join_windows.h).
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// On the blocks directly in the root block, whose iterators are split (split_iterators.h). Joins those iterators that
// save products, padding included; none where the column operand is not constant, as it would be computed every time.
// Choices, where that saves any: NAME.phases.
void JoinPhases(Schedule& sch, const std::string& function, const Target& target, Choices& choices);

}  // namespace tilewright
