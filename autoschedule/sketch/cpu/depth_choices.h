// What is chosen about the depth of a contraction before its tile is planned
// (autoschedule/sketch/cpu/contraction_rule.h).
#pragma once

#include <functional>
#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Schedules the contraction once its depth is as it was chosen.
using ScheduleRest = std::function<Outcome<std::monostate>(Schedule&, Choices&)>;

// Whether rows are copied so that groups of neighbours along the depth are read at once
// (autoschedule/movement/cpu/depth_innermost.h): NAME.depth_lies, a choice where they lie apart. The copy is scheduled.
// Preferred is what makes the projected time of the function shorter.
Outcome<std::monostate> ChooseDepthInnermost(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                             const ScheduleRest& rest);

// Whether the depth and the iterator before it are made one: NAME.depth, a choice where that saves padding.
Outcome<bool> ChooseFusedDepth(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

}  // namespace tilewright
