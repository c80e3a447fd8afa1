// One deterministic schedule for contractions on CPUs: register tiles around an FMA intrinsic, packed columns.
//
// For C[rows, columns] += A[rows, inner] * B[inner, columns], with batch iterators around, it gives (docs/tour.md walks
// through one):
//
//   for batch, column tile, outer rows, row tile in T.parallel(...):       as many of them as balance the cores
//       C_register[tile] = 0                                               vector registers
//       for inner:
//           A_register = A[rows of the tile]                               broadcast from the plain tensor, borders and
//           C_register[tile] += A_register * B_packed[panel]               edges as conditions that lowering cuts off
//       C[tile] = C_register[tile]
//
// B is packed into panels [columns / tile, inner..., tile], ahead of time when it is constant. Only the innermost row
// iterator is tiled, so a tile never crosses a row of a convolution's output. Nothing is measured: the tile comes from
// ir/target.h by ChooseRegisterTile. Every step is a primitive of the schedule, so the trace replays elsewhere.
#pragma once

#include <variant>

#include "ir/target.h"
#include "schedule/schedule.h"

namespace tilewright {

// `block` must be a contraction (autoschedule/contraction.h) of f32 with constant extents whose iterators are bound to
// loops of their own; otherwise, or when the target has no FMA tiles, a refusal of "contraction_rule". On a refusal the
// steps before it stay applied.
Outcome<std::monostate> ScheduleContraction(Schedule& sch, BlockRv block, const Target& target);

}  // namespace tilewright
