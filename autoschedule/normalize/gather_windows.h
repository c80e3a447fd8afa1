// Sums over windows with few output channels, as a product of matrices whose results are gathered.
//
//   Y[o, h * 2 + p, w * 2 + q] += X[c, h + p + r, w + q + s] * W[c, o, p, q, r, s]          o in [0, 3), c in [0, 64)
//
//   Y_sums[v, x, y] += X[c, x, y] * W[c, v]                                         v in [0, 48): all o, p, q, r, s
//   Y[o, h * 2 + p, w * 2 + q] += Y_sums[(((o * 2 + p) * 2 + q) * 2 + r) * 2 + s, h + p + r, w + q + s]
//
// A direct product of matrices with vectors along the image needs a copy of each element for each of its places in a
// window and for each phase: here 16 of each of 64 channels, which 3 rows are multiplied by. The sums
// (schedule/algebra/gather_sums.h) read the image where it lies, by 48 rows, and are few.
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// On the blocks directly in the root block, whose iterators are split (split_iterators.h). Choices, where a block has
// that form: NAME.window, of which "gathered" is preferred where fewer elements are moved.
void GatherWindows(Schedule& sch, const std::string& function, const Target& target, Choices& choices);

}  // namespace tilewright
