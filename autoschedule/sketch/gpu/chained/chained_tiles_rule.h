// Schedules for a product, what is computed of its rows, and a second product
// (autoschedule/sketch/chained/chained_plan.h) on a GPU: one kernel, whose scores are never in global memory.
//
//   for batch, block of rows in blocks of threads:
//       Q_shared[rows, d]                                      copied by all threads together
//       for block of keys:                                     as far as masks leave terms
//           K_shared[d, keys], V_shared[keys, c]
//           scores[rows, keys] = Q_shared times K_shared       in registers of the threads that compute them
//           M, S ... of the block                              by the threads that share a row, by shuffles
//           E_shared[rows, keys]
//           O[rows, c] = O[rows, c] * rescale[rows] + E_shared times V_shared       in registers
//       O[rows, c] / S[rows]
//
// Blocks of keys follow the running maximum (schedule/reduction/rescale_reduction.h). A chain that it refuses, or that
// gives scores, places of keys or the score of a key that it loads, has all keys of a block of rows in shared memory:
//
//       for block of keys: K_shared[d, keys]; scores_shared[rows, keys of the block]
//       M, E_shared, S ... of all keys                         by the threads that share a row, by shuffles
//       for block of keys: V_shared[keys, c]; O[rows, c] += E_shared times V_shared
//
// The last blocks of rows and keys need not be whole. Threads are a grid: those along y have rows, those along x keys
// or columns, each several.
//
// Choices:
//   NAME.row_block, NAME.key_block     rows and keys of a block
//   NAME.thread_rows                   rows of a thread
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/chained/chained_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Extents of the chain are constants. On a refusal of "chained_tiles" or a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleChainedTiles(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                             Choices& choices);

}  // namespace tilewright
