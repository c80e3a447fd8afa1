// Schedules for contractions on CPUs: register tiles around an intrinsic, packed columns.
//
// For C[rows, columns] += A[rows, inner] * B[inner, columns], with batch iterators around, they are (docs/tour.md walks
// through one):
//
//   for batch, column tile, outer rows, row tile in T.parallel(...):       as many of them as balance the cores
//       C_register[tile] = 0                                               vector registers
//       for inner:
//           A_register = A[rows of the tile]                               broadcast from the plain tensor, borders and
//           C_register[tile] += A_register * B_packed[panel]               edges as conditions that lowering cuts off
//       C[tile] = C_register[tile]
//
// B is packed into panels [columns / tile, inner..., tile], ahead of time when it is constant, otherwise each panel
// before it is used, or read where it lies when that is along its columns. Narrow types multiply in groups of V
// neighbours along the innermost depth (autoschedule/tensorize/tile_instruction.h): a group of A is read at once,
// panels are [columns / tile, inner..., depth / V, tile, V], and a depth that is not a multiple of V is padded with
// zeros. Only the innermost row iterator is tiled, so a tile never crosses a row of a convolution's output. Every step
// is a primitive of the schedule, so the trace replays elsewhere.
//
// Tiles of AMX load what they multiply, and store sums, by themselves: rows come from where they lie, a padded copy of
// a convolution's input for example, from a copy for the windows along them, or are packed next to each other
// (autoschedule/sketch/cpu/contraction_plan.h); tiles go to the output directly where they divide it and nothing is
// computed from them. AMX is limited by operand traffic: one operand must be L2-resident and a panel of the other in
// L1. If rows stay in place, tiles take several short rows of an image; otherwise such rows are copied or packed as
// one.
//
// Choices, preferred ones from target/target.h by estimates, nothing measured:
//   NAME.depth_lies      of groups of rows whose elements lie apart: in_place, or innermost in a copy made before
//   NAME.depth           of groups that would be padded: apart, or fused with the iterator before
//   NAME.instruction     by its family, where the target has several
//   NAME.tile_vectors, NAME.tile_rows, NAME.tile_depth   the register tile (autoschedule/tensorize/register_tile.h)
//   NAME.rows, NAME.row_tiles   of AMX: where tiles load rows from (RowPlace); image rows of a tile in place
//   NAME.row_block       tile rows that follow each other before the next block of rows; all by default
//   NAME.batch_after     loops over rows that are outside of those over the batch
//   NAME.columns_after   loops over rows that are outside of those over columns
//   NAME.rows_per_core   of AMX: whether each core copies the rows that it reads for itself
//   NAME.columns_stored  constants that columns are made of: packed, and unpacked by panels, or unpacked ahead of time
//   NAME.packed          whether columns that are not constant are packed; they are where panels spread over many pages
//   NAME.output          of outputs that lie across tiles: scattered, or copied from rows where that takes less time
//   NAME.parallel_loops  outermost loops that are fused into the parallel one; 0: serial
//   NAME.stream          of autoschedule/movement/cpu/bypass_caches.h
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// `block` must be a contraction (autoschedule/program/contraction.h) whose iterators are bound to loops of their own;
// otherwise, or when the target has no tiles for its types, a refusal of "contraction_rule". On a refusal the steps
// before stay applied. `batch_inside`: loops over the batch are preferably inside of the parallel loops over rows, and
// outside of the tiled one. An iteration then computes all products of a row, and blocks that compute the row or use
// the products can join it.
Outcome<std::monostate> ScheduleContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                            bool batch_inside = false);

}  // namespace tilewright
