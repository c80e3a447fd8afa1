// Grouped products whose groups have few columns: several groups side by side in a vector.
//
//   C[h, w, g * 4 + o] += P[h + r, w + s, g * 4 + c] * W[r, s, c, g * 4 + o]                 o, c < 4
//
// =>
//
//   C[h, w, v] += P[h + r, w + s, v // 4 * 4 + c] * W[r, s, c, v]
//
// A vector of a group's own columns would be padding for the most part. Here all of its lanes count; what it costs is
// that the row operand's elements are not broadcasts, but picked from vectors (codegen/lower/cpu/load_runs.h), which
// neighbouring windows share. Such a block is one of sums over windows (autoschedule/tensorize/window_tile.h).
#pragma once

#include <variant>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A refusal of "join_groups" when the block is none of these, when the target multiplies several neighbours of a sum at
// once, or when the columns of one group fill half of a vector.
Outcome<std::monostate> JoinGroups(Schedule& sch, BlockRv block, const Target& target);

}  // namespace tilewright
