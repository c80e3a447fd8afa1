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

// The block that copies the output to its place, which is still to be scheduled; nothing where there is none. The
// choice is NAME.output, "scattered" or "copied", made where neighbours along the last iterator of `write_back` are
// stored apart and those along another one are not. The preferred one takes less time by the costs of stores and
// copies.
Outcome<std::optional<BlockRv>> ChooseOutputOrder(Schedule& sch, BlockRv write_back, const std::string& name,
                                                  const Target& target, Choices& choices);

}  // namespace tilewright
