// Schedules for a product, what is computed of its rows, and a second product, by warps that multiply fragments in
// registers (mma.sync): one kernel, whose scores are never in memory at all.
//
//   for batch, block of rows in blocks of threads, 16 rows of it in warps:
//       Q_shared[rows, d]
//       for block of keys:                                     K and V of the next one are copied meanwhile
//           K_shared[keys, d], V_shared[keys, c]               swizzled
//           scores[16, keys] = fragments of Q times K          sums in registers, by ldmatrix and mma.sync
//           M, S ... of the block                              by shuffles, kept in shared memory
//           W[16, keys]                                        in the registers where the second product reads them
//           O[16, c] = O[16, c] * rescale[16] + W times fragments of V
//       O[16, c] / S[16]
//
// What a lane holds of sums is what it has to hold of the left operand (codegen/lower/gpu/fragment_lanes.h), so
// elementwise blocks between the products are each lane's own. Instructions are those of the table for the operands'
// types, as in autoschedule/sketch/gpu/mma_tile_rule.h. Whole blocks: their sizes divide rows, keys, depth and columns.
//
// Choices:
//   NAME.warps, NAME.key_block     of a block
//   NAME.stages                    blocks of keys that are copied or used at the same time
#pragma once

#include <optional>
#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/chained/chained_plan.h"
#include "intrin/instructions.h"
#include "intrin/registry.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The instruction that multiplies both products of the chain; null where there is none of the target.
const MachineInstruction* FindChainedMma(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                         IntrinRegistry* intrins);

// On a refusal of "chained_tiles" or a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleChainedFragments(Schedule& sch, const ChainedPlan& plan,
                                                 const MachineInstruction& instruction, const Target& target,
                                                 Choices& choices);

}  // namespace tilewright
