// Rows of an image as one: where windows move along rows and across them, a copy of the image has its rows one behind
// the other, and tiles take neighbours from as many of them as they like, the places between two rows included, whose
// sums nobody reads.
//
//   C[h, w, o] += P[h + r, w + s, c] * F[r, s, c, o]             h in [0, H), w in [0, W), s in [0, 3)
//
//   R[y * (W + 2) + x, c] = P[y, x, c]                           each element once
//   Y[p, o] += R[p + r * (W + 2) + s, c] * F[r, s, c, o]         p in [0, (H - 1) * (W + 2) + W)
//   C[p // (W + 2), p % (W + 2), o] = Y[p, o]                    where p % (W + 2) < W
//
// A copy for windows along the row (autoschedule/movement/cpu/rows_in_memory.h) has each element three times.
#pragma once

#include <optional>
#include <vector>

#include "autoschedule/program/contraction.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

struct PitchedRows {
  BlockRv copy, write_back;  // what writes R and C; consumers of C are part of the latter
  std::vector<int> windows;  // the block's iterators over windows in these dimensions (r and s)
};

// The last two row iterators of a contraction become one. Nothing where they do not move by one along two dimensions of
// the row operand that follow each other, where no windows move along the inner one, or where consumers of C are left
// or do not compute all of it: with gaps in what is written, others cannot be placed or proven; `sch` is to be thrown
// away then.
std::optional<PitchedRows> FuseRowsAtPitch(Schedule& sch, BlockRv block, const Contraction& contraction);

}  // namespace tilewright
