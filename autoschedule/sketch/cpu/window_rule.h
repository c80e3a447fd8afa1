// Reductions that read along the vector axis: pooling, stencils, depthwise convolutions, sums over outer dimensions.
//
// With a reduction that reads along the vector axis, a tile of the output stays in vector registers:
//
//   for n, h0, c0, w0 (outer ones parallel; c0 elsewhere too):
//       C_register[tile of h, w x vectors of c] = init
//       for kh, kw (unrolled where they are few):
//           C_register[...] += A[...] * W[...]
//       C[tile] = C_register                             elementwise consumers computed here
// Large padded windows have tiles of one row, and the loop over kh is not unrolled: an iteration loads from inside of
// the image or has nothing to do.
//
// Neighbours in the output may be phases (autoschedule/movement/cpu/stored_phases.h): a tile has vectors along each
// of them, which are put together when it is stored.
// An operand that adjacent outputs read across (distances between rows of two matrices) is transposed first if other
// outputs use its elements again.
//
// Choices, each after the block's name:
//   NAME.window_tile     the tile in registers, by its rank in the estimate of autoschedule/tensorize/window_tile.h
//   NAME.vector_loop     of tiles: between the loops over rows and columns (0), outermost (1), innermost (2)
#pragma once

#include <optional>
#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A block whose results are staged: the iterator over its phases, and the block that stores them.
struct StagedPhases {
  int phase = -1;
  BlockRv write_back;
};

// Lets a reduction without a vector axis store its phases separately if that gives it one; nothing otherwise.
std::optional<StagedPhases> StagePhases(Schedule& sch, BlockRv block, const Target& target);

// Whether transposing one operand gives the plan a vector axis; at least as many outputs as a vector has lanes must use
// its elements: D[i, j] += (A[i, k] - B[j, k])^2.
bool ReadsAcross(const PlainPlan& plan);

// Transposes the operand, ahead of time if it is constant, else in a nest of its own. Returns the block's new plan.
Outcome<PlainPlan> TurnOperand(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target);

// On a refusal the steps before it stay applied. `phases`: of a block for which StagePhases was called.
Outcome<std::monostate> ScheduleWindows(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                                        Choices& choices, const std::optional<StagedPhases>& phases = std::nullopt);

}  // namespace tilewright
