// Schedules for products of bytes whose sums are scaled block by block of the depth: activations and weights that were
// quantized by blocks.
//
//   S[b, i, j] += int32(A[i, b, k]) * int32(W[b, k, j])          a sum for each block of the depth
//   C[i, j] += float32(S[b, i, j] - ...) * ...                   scaled and added up
//
//   for columns of a tile in T.parallel(...):
//       for rows of a tile:
//           C_register[tile] = 0
//           for b:
//               S_register[tile] = 0
//               for groups of neighbours along k:
//                   W_register[group, columns] = unpacked panels[...]          for each weight of a byte
//                   S_register[tile] += A[rows, group] * W_register[group]     dot products (intrin/dot_tile.h)
//               C_register[tile] += S_register[tile] * ...
//           C[tile] = C_register[tile]
//
// Weights are constant and stay packed: bytes in the order in which tiles read them, one layout for any number of rows.
// So do scales and zero points, which lie along the columns of a panel. Rows may be symbolic.
//
// Choices: NAME.tile_vectors and NAME.tile_rows, the register tile; NAME.tile_depth, groups along the depth that are
// written out; NAME.parallel_loops: 0 or 1, whether threads share the tiles of columns.
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Whether the rule applies: the block sums blocks of K, one other block adds these sums up, and the columns are
// constant.
bool IsSumOfBlocks(Schedule& sch, BlockRv block, const Target& target);

Outcome<std::monostate> ScheduleSumsOfBlocks(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

}  // namespace tilewright
