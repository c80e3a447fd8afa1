// Reductions that read along the vector axis: pooling, stencils, depthwise convolutions, sums over outer dimensions.
//
// With a reduction that reads along the vector axis, a tile of the output stays in vector registers:
//
//   for n, h0, c0, w0 (outer ones parallel; c0 elsewhere too):
//       C_register[tile of h, w x vectors of c] = init
//       for kh, kw (unrolled where they are few):
//           C_register[...] += A[...] * W[...]
//       C[tile] = C_register                             elementwise consumers computed here
//
// Windows that are padded and large have tiles of one row, and the loop over kh stays one: an iteration of it loads
// from inside of the image or has nothing to do.
//
// Neighbours in the output may be phases (autoschedule/movement/cpu/stored_phases.h): a tile has vectors along each
// of them, which are put together when it is stored.
//
// An operand that neighbours in the output read across (distances of the rows of two matrices) is turned first, where
// other outputs use its elements again.
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

// Lets a reduction without a vector axis write its phases apart, where that gives it one. Nothing otherwise.
std::optional<StagedPhases> StagePhases(Schedule& sch, BlockRv block, const Target& target);

// Whether the vector axis that the plan lacks is had by turning one operand, whose elements as many outputs use as a
// vector has lanes: D[i, j] += (A[i, k] - B[j, k])^2.
bool ReadsAcross(const PlainPlan& plan);

// Turns it: ahead of time where it is constant, else in a nest of its own. The plan of the block then.
Outcome<PlainPlan> TurnOperand(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target);

// On a refusal the steps before it stay applied. `phases`: of a block for which StagePhases was called.
Outcome<std::monostate> ScheduleWindows(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                                        Choices& choices, const std::optional<StagedPhases>& phases = std::nullopt);

}  // namespace tilewright
