// The plan that the contraction rule (autoschedule/sketch/cpu/contraction_rule.h) makes before it changes the schedule.
#pragma once

#include <string>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Plans the block, or refuses it in the name of "contraction_rule". Choices: NAME.instruction, where the target has
// several; NAME.rows, one of RowPlace. Row iterators may be fused afterwards, and the copy of RowPlace::kWindows or
// kPitched is made. `batch_inside`: loops over the batch are preferred inside of those over rows but the tiled one.
Outcome<ContractionPlan> PlanContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                         bool batch_inside = false);

// Picks one of the tiles, which are those of the plan, perhaps with other estimates. Choices: NAME.tile_vectors,
// NAME.tile_rows, NAME.row_tiles.
Outcome<RegisterTile> PickTile(Schedule& sch, const std::string& block, const ContractionPlan& plan,
                               std::vector<RegisterTile> tiles, Choices& choices);

}  // namespace tilewright
