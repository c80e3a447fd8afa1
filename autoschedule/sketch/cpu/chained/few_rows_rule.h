// Schedules for chains (autoschedule/sketch/chained/chained_plan.h) with fewer rows that read the same keys than a
// vector has elements: one query or a few, heads that share keys.
//
//   for batch, key head in T.parallel(...):
//       for block of keys:                                    one block of all keys where they fit into the L2 cache
//           scores[rows, keys] = of vectors along the depth, which are added up in registers
//           M, E, S ... of the block, by vectors along keys
//           O[rows, :] = O[rows, :] * rescale[rows] + of tiles of E times V[keys, :]
//       O[rows, :] / S[rows]
//
// Each key is loaded once, for all rows that read it, where it lies.
//
// Cores share the keys too where batches and key heads do not keep them busy (schedule/reduction/rescale_reduction.h's
// rescale_parts):
//
//   for batch, key head, part of the keys in T.parallel(...):
//       scores, M, E, S, O of the part                        with all of its keys at once
//   M, S, O of the parts, in their order, O / S              each in loops of its own over batches and heads
//
// Choices:
//   NAME.key_block      keys of a block; 0: all keys at once, nothing rescaled
//   NAME.part_keys      keys of a part, where cores share them
//   NAME.tile_keys      keys whose sums are in registers at once
//   NAME.tile_vectors   vectors of a tile of second products
//   NAME.key_vectors    vectors of keys that are computed at once
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/chained/chained_plan.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// On a refusal of "chained_rule" or a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleFewRows(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices);

}  // namespace tilewright
