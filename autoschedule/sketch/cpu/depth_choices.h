// Choices about K of a contraction (autoschedule/sketch/cpu/contraction_rule.h): its form before the tile is planned,
// and the tile's share of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "autoschedule/program/choices.h"
#include "autoschedule/tensorize/register_tile.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Schedules the contraction once its depth is as it was chosen.
using ScheduleRest = std::function<Outcome<std::monostate>(Schedule&, Choices&)>;

// Chooses NAME.depth_lies if elements adjacent along K lie apart: whether rows are copied so that groups are read at
// once (autoschedule/movement/cpu/depth_innermost.h). Schedules the copy. Prefers the shorter projected time of the
// function.
Outcome<std::monostate> ChooseDepthInnermost(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                             const ScheduleRest& rest);

// Chooses NAME.depth if that saves padding: whether K and the iterator before it are fused.
Outcome<bool> ChooseFusedDepth(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

// The index in `depths`, which ascend, of the one that a tile takes when nothing was measured. `padded`: the whole
// depth where it was padded. `line`: that of the rows that the tile loads into vector registers, or 0.
size_t PreferredDepth(const TileInstruction& instruction, const RegisterTile& tile, const std::vector<int64_t>& depths,
                      std::optional<int64_t> padded, int64_t line, const Target& target);

}  // namespace tilewright
