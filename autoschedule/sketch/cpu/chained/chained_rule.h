// Schedules for a product, what is computed of its rows, and second products
// (autoschedule/sketch/chained/chained_plan.h): one loop over blocks of rows, whose scores stay in the caches.
//
//   for batch, block of rows in T.parallel(...):
//       Q_packed[d, rows]                                     rows next to each other
//       for block of keys:                                    one block of all keys where they fit into the L2 cache
//           scores[keys, rows] = of tiles of K times Q_packed, and what elementwise blocks make of them
//           M, E, S ... of the block, by vectors along rows
//           O[rows, :] = O[rows, :] * rescale[rows] + of tiles of E times V[keys, :]
//       O[rows, :] / S[rows]
//
// Scores lie with rows next to each other: reductions over keys are elementwise over vectors of rows, and neither K nor
// V is packed. Blocks of keys follow the running maximum (schedule/reduction/rescale_reduction.h) where the terms allow
// it; else, and where a block of rows with all its keys fits, all keys are one block. Divisions go behind second
// products (schedule/algebra/hoist_factor.h).
//
// Products of narrow types are computed by instructions that multiply groups of neighbours along the depth
// (tensor_tiles.h) where their tiles divide all extents. Rows are the columns of both products' tiles:
//
//   Q_packed[d / group, rows, group]                          per block of rows
//   scores[keys, rows] = tiles of K, where it lies, times Q_packed
//   W[keys / group, rows, group] = of E, rounded
//   V_packed[columns, keys]                                   per block of keys
//   O[columns, rows] = O[columns, rows] * rescale[rows] + tiles of V_packed times W
//
// Blocks of rows and of keys are converted where the target has no such instructions (wide_operands.h).
//
// Choices:
//   NAME.row_block, NAME.key_block     rows and keys of a block; key_block 0: all keys at once, nothing rescaled
//   NAME.tile_vectors                  vectors of a register tile along what it loads
//   NAME.tile_keys, NAME.tile_rows     elements that tiles broadcast: of the first product, of second ones
//   NAME.row_vectors                   vectors of rows that are computed at once
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/chained/chained_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// A tile has a vector of rows at least; where it keeps all scores, in half of the L2 cache.
ChainLimits LimitsOfChains(const Target& target);

// Whether there are tiles for the chain. Those of instructions that multiply groups must divide its extents; types for
// which the target has none are multiplied in float32.
bool HasTiles(const Schedule& sch, const ChainedPlan& plan, const Target& target);

// On a refusal of "chained_rule" or a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleChained(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices);

}  // namespace tilewright
