// Outputs that lie across the tiles of a contraction.
//
//   for tiles: C[o, y, x] = f(C_register[y, x, o])           elements of a vector are stored one by one
//
//   for tiles: C_rows[y, x, o] = f(C_register[y, x, o])      by vectors
//   for o, y, x: C[o, y, x] = C_rows[y, x, o]                by tiles that are transposed in registers
#pragma once

#include <optional>
#include <string>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The block that copies the output to its place, not scheduled yet; nothing if tiles store it directly. Chooses
// NAME.output, "scattered" or "copied", if the last iterator of `write_back` stores elements that lie apart and another
// one stores adjacent elements. Prefers the way with the lower cost of stores and copies.
Outcome<std::optional<BlockRv>> ChooseOutputOrder(Schedule& sch, BlockRv write_back, const std::string& name,
                                                  const Target& target, Choices& choices);

}  // namespace tilewright
