// Schedules for products of few rows by constants that stay packed: weights of 4 or 8 bits, dequantized in registers.
//
// They are for C[i, j] += A[i, k] * W[k, j], W made of packed constants (autoschedule/program/unpacked_constants.h):
//
//   for columns of a tile in T.parallel(...):
//       C_register[rows, tile] = 0                                  vector registers
//       for block of the depth, byte of the block:
//           for element of the byte, written out:
//               W_register[tile] = unpacked panels[tile]            (autoschedule/movement/cpu/packed_constants.h)
//               C_register[rows, tile] += A[rows, k] * W_register[tile]
//       C[rows, tile] = C_register[rows, tile]
// Every vector of weights is multiplied by all rows when it is unpacked, so each weight is read and unpacked once. If
// the sums of all rows do not fit in registers, the contraction rule applies, which unpacks panels into the caches.
//
// For one row the sum of a block is multiplied by the block's scale, where it has one
// (schedule/algebra/hoist_factor.h), and not each weight: half of the arithmetic is unpacking.
//
// Choices: NAME.scaled, "weights" or "sums"; NAME.tile_vectors, the vectors of a tile; NAME.tile_depth, how many bytes
// along the depth are written out; NAME.parallel_loops: 0 or 1, whether threads share the tiles.
#pragma once

#include <variant>

#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// Whether the rule applies: the block is a contraction with an unpacker and few enough rows.
bool IsPackedProduct(Schedule& sch, BlockRv block, const Target& target);

Outcome<std::monostate> SchedulePackedProduct(Schedule& sch, BlockRv block, const Target& target, Choices& choices);

}  // namespace tilewright
