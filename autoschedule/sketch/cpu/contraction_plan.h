// What the contraction rule (autoschedule/sketch/cpu/contraction_rule.h) finds out before it moves anything.
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A refusal of "contraction_rule" when the block is none that it schedules. Choices: NAME.instruction, where the target
// has several; NAME.rows, one of RowPlace. Row iterators may be one afterwards; of RowPlace::kWindows and kPitched the
// copy is made. `batch_inside`: of rows but the tiled one, preferably.
Outcome<ContractionPlan> PlanContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                         bool batch_inside = false);

// One of the tiles, those of the plan with estimates of their own perhaps. Choices: NAME.tile_vectors, NAME.tile_rows,
// NAME.row_tiles.
Outcome<RegisterTile> PickTile(Schedule& sch, const std::string& block, const ContractionPlan& plan,
                               std::vector<RegisterTile> tiles, Choices& choices);

}  // namespace tilewright
