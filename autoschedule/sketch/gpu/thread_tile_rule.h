// Contractions by threads: a tile of sums in the registers of each, operands in shared memory.
//
//   for tiles in blocks, parts of a tile in threads:
//       C_local[0:4, 0:4] = 0
//       for k0:
//           A_shared, B_shared: tiles of the operands, by all threads together
//           for k1: C_local[...] += A_shared[...] * B_shared[...]        written out
//       C[...] = C_local[...]                                             with elementwise consumers
//
// Operands are those of the matrix form (autoschedule/normalize/matrix_form.h): products, batches and groups of them,
// convolutions. Choices, after the block's name: NAME.tile_m, NAME.tile_n, NAME.tile_k of a block, NAME.thread_m,
// NAME.thread_n of a thread.
#pragma once

#include <cstdint>
#include <variant>

#include "autoschedule/sketch/gpu/product_tiles.h"

namespace tilewright {

// Sides of a thread's tile.
inline constexpr int64_t kThreadSides[] = {1, 2, 4, 8};

// On a refusal of a primitive the steps before it stay applied.
Outcome<std::monostate> ScheduleThreadTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const Target& target,
                                            Choices& choices);

}  // namespace tilewright
