// The memory from which tiles of AMX read rows, a part of the contraction rule's plan
// (autoschedule/sketch/cpu/contraction_plan.h).
//
// Tiles of AMX load rows from memory: where they lie, when the last dimension is the depth and neighbouring rows are
// neighbours along another one (a padded copy of a convolution's input, say), or from packed ones. Rows of images that
// are shorter than a tile are taken from several image rows at once. Between the two, of convolutions in several
// dimensions, a copy for the windows along the row alone, or one whose rows follow each other:
//
//   C[h, w, o] += P[h * 2 + r, w * 2 + s, c] * W[r, s, c, o]
//   windows: R[y, w, s, c] = P[y, w * 2 + s, c]    C[h, w, o] += R[h * 2 + r, w, s, c] * W[r, s, c, o]
//   packed:  R[h, w, r, s, c] = P[h * 2 + r, w * 2 + s, c]
//   pitched: autoschedule/movement/cpu/pitched_rows.h, where the strides are 1
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The plan `given` with where rows are read, and with the tiles that are worth a try there. Choices: NAME.rows.
Outcome<ContractionPlan> PlanRowsInMemory(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                          const ContractionPlan& given);

}  // namespace tilewright
